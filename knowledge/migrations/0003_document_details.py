"""Tags, owner and review of documents."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("knowledge", "0002_drafts_and_images")]
    operations = [
        migrations.AddField(
            model_name="knowledgedocument",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=50), blank=True, db_default=[], default=list,
                size=None, verbose_name="tags",
            ),
        ),
        migrations.AddField(
            model_name="knowledgedocument",
            name="owner",
            field=models.CharField(blank=True, db_default="", default="", max_length=50, verbose_name="owner"),
        ),
        migrations.AddField(
            model_name="knowledgedocument",
            name="review_after",
            field=models.DateTimeField(blank=True, null=True, verbose_name="stale after"),
        ),
        migrations.AddField(
            model_name="knowledgedocument",
            name="reviewer",
            field=models.CharField(
                blank=True, db_default="", default="", max_length=50, verbose_name="review requested from"
            ),
        ),
        migrations.AddField(
            model_name="knowledgedocument",
            name="reviewed_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="reviewed"),
        ),
    ]
