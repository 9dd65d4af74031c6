"""Tool results, and what an account wants done with its context."""

import context.models.settings
import django.core.validators
import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0002_initial'),
        ('ledger', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='ContextSettings',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('archive_threshold', models.PositiveIntegerField(default=10000, validators=[django.core.validators.MaxValueValidator(1000000)], verbose_name="archive tool results longer than (characters)")),
                ('tool_thresholds', models.JSONField(blank=True, default=dict, validators=[context.models.settings.check_thresholds], verbose_name="thresholds by tool")),
                ('retention_days', models.PositiveIntegerField(blank=True, default=90, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name="tool result retention (days)")),
                ('across_conversations', models.BooleanField(default=False, verbose_name="agents can search tool results from other conversations")),
                ('language', models.CharField(choices=[('en', 'English'), ('zh', 'Chinese')], default='en', max_length=10, verbose_name="placeholder language")),
                ('version', models.PositiveIntegerField(default=0, verbose_name='version')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': "context settings",
                'verbose_name_plural': "context settings",
                'constraints': [models.UniqueConstraint(fields=('account',), name='one_context_settings_per_account'), models.CheckConstraint(condition=models.Q(('retention_days', None), ('retention_days__gte', 1), _connector='OR'), name='retention_of_at_least_a_day')],
            },
        ),
        migrations.CreateModel(
            name='ToolResultArchive',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('conversation_id', models.CharField(blank=True, max_length=200, verbose_name='conversation')),
                ('thread_id', models.CharField(blank=True, max_length=200, verbose_name='thread')),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('tool_call_id', models.CharField(blank=True, max_length=200, verbose_name='tool call')),
                ('tool_name', models.CharField(max_length=100, verbose_name='tool')),
                ('tool_input', models.JSONField(blank=True, null=True, verbose_name='tool input')),
                ('query_summary', models.CharField(blank=True, max_length=500, verbose_name='query')),
                ('result_summary', models.TextField(blank=True, verbose_name='summary')),
                ('result_full', models.TextField(verbose_name='result')),
                ('result_length', models.PositiveIntegerField(verbose_name='characters')),
                ('sources', models.JSONField(default=list, verbose_name='sources')),
                ('sha256', models.CharField(max_length=64, verbose_name='SHA-256')),
                ('sent_sha256', models.CharField(editable=False, max_length=64)),
                ('language', models.CharField(max_length=10, verbose_name='language')),
                ('created_by', models.CharField(max_length=50, verbose_name='written by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('load_count', models.PositiveIntegerField(default=0, verbose_name="load count")),
                ('last_loaded_at', models.DateTimeField(blank=True, null=True, verbose_name='last loaded')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'tool result',
                'verbose_name_plural': 'tool results',
                'indexes': [models.Index(fields=['account', '-created_at', '-id'], name='archives_newest_first'), models.Index(fields=['account', 'conversation_id'], name='archives_of_conversation'), models.Index(fields=['account', 'thread_id'], name='archives_of_thread'), models.Index(fields=['account', 'tool_name'], name='archives_of_tool'), models.Index(fields=['account', 'sent_sha256'], name='archives_as_sent'), models.Index(fields=['account', 'sha256'], name='archives_as_kept')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='archive_in_account')],
            },
        ),
    ]
