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
            field=models.PositiveIntegerField(blank=True, help_text='Then they go, and what watching rules made of them; those with feedback stay. Empty: they stay.', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name='decisions are kept for, in days'),
        ),
    ]
