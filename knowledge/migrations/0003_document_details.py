"""Tags, owner and review of documents; indexes of those that need attention, without blocking writers."""

import django.contrib.postgres.fields
from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
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
        AddIndexConcurrently(
            "knowledgedocument",
            models.Index(
                condition=models.Q(("reviewer", ""), _negated=True), fields=["account", "reviewer"],
                name="documents_to_review",
            ),
        ),
        AddIndexConcurrently(
            "knowledgedocument",
            models.Index(
                condition=models.Q(("review_after__isnull", False)), fields=["account", "review_after"],
                name="documents_by_review",
            ),
        ),
    ]
