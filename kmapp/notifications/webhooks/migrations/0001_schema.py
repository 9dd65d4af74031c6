"""Webhooks."""

import django.contrib.postgres.fields
import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0004_strict_scope'),
        ('ledger', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Webhook',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('url', models.CharField(max_length=2000, verbose_name='URL')),
                ('event_types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=50), size=None, verbose_name='events')),
                ('payload_format', models.CharField(default='kmapp', max_length=20, verbose_name='payload format')),
                ('secret', models.CharField(editable=False, max_length=255, verbose_name='signing secret')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('created_by', models.CharField(max_length=50, verbose_name='created by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('last_attempt_at', models.DateTimeField(blank=True, null=True, verbose_name='last attempt')),
                ('last_error', models.CharField(blank=True, max_length=300, verbose_name='last error')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'webhook',
                'verbose_name_plural': 'webhooks',
                'indexes': [models.Index(fields=['account', '-created_at'], name='webhooks_newest_first')],
            },
        ),
        EnableRowLevelSecurity("webhooks_webhook"),
        SameAccountForeignKey("webhooks_webhook", "commit_id", "ledger_commit"),
    ]
