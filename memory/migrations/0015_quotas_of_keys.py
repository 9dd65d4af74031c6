"""How much a key may write; none: the usual."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("memory", "0014_topics_by_status")]
    operations = [
        migrations.AddField(
            model_name="memorysettings",
            name="daily_writes",
            field=models.PositiveIntegerField(
                blank=True,
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="memories per key per day",
            ),
        ),
        migrations.AddField(
            model_name="memorysettings",
            name="open_proposals",
            field=models.PositiveIntegerField(
                blank=True,
                null=True,
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="pending proposals per key",
            ),
        ),
    ]
