"""What an account wants noted from conversations: its own instructions and categories."""

import django.core.validators
from django.db import migrations, models

import memory.models.settings


class Migration(migrations.Migration):

    dependencies = [
        ('memory', '0010_forgetting_many'),
    ]

    operations = [
        migrations.AddField(
            model_name='memorysettings',
            name='categories',
            field=models.JSONField(blank=True, default=dict, validators=[memory.models.settings.validate_categories], verbose_name='categories of facts'),
        ),
        migrations.AddField(
            model_name='memorysettings',
            name='instructions',
            field=models.TextField(blank=True, max_length=4000, validators=[django.core.validators.MaxLengthValidator(4000)], verbose_name="additional extraction instructions"),
        ),
    ]
