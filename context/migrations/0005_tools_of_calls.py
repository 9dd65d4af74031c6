import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('context', '0004_isolate_reports'),
    ]

    operations = [
        migrations.AddField(
            model_name='contextcostreport',
            name='called_tools',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), blank=True, default=list, size=None, verbose_name='tools called'),
        ),
        migrations.AddField(
            model_name='contextcostreport',
            name='tool_tokens',
            field=models.JSONField(blank=True, default=dict, verbose_name='tokens by tool'),
        ),
    ]
