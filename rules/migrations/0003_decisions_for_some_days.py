"""Accounts may keep decisions for some days only."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('rules', '0002_isolate'),
    ]

    operations = [
        migrations.AddField(
            model_name='rulebook',
            name='decision_days',
            field=models.PositiveIntegerField(blank=True, help_text="Older decisions and their shadow observations are deleted, except those with feedback; leave empty to keep all.", null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name="decision retention (days)"),
        ),
    ]
