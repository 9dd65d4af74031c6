"""Daily statistics of accounts, and samples of the installation."""

import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity


class Migration(migrations.Migration):


    dependencies = [
        ('accounts', '0004_strict_scope'),
        ('web', '0001_session'),
    ]

    operations = [
        migrations.CreateModel(
            name='SystemSample',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('host', models.CharField(max_length=255, verbose_name='host')),
                ('values', models.JSONField(default=dict, verbose_name='values')),
            ],
            options={
                'verbose_name': 'system sample',
                'verbose_name_plural': 'system samples',
                'indexes': [models.Index(fields=['created_at'], name='samples_by_time')],
            },
        ),
        migrations.CreateModel(
            name='DailyStatistics',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('day', models.DateField(verbose_name='day')),
                ('figures', models.JSONField(default=dict, verbose_name='figures')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'daily statistics',
                'verbose_name_plural': 'daily statistics',
                'constraints': [models.UniqueConstraint(fields=('account', 'day'), name='one_statistics_row_per_day')],
            },
        ),
        EnableRowLevelSecurity("web_dailystatistics"),
    ]
