"""Calls: their accounts, what they were made of, summaries; and settings of all that."""

import context.models.settings
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import kmapp.database.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_override_scope'),
        ('context', '0002_isolate'),
    ]

    operations = [
        migrations.AddField(
            model_name='contextsettings',
            name='inputs_days',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(36500)], verbose_name="call input retention (days)"),
        ),
        migrations.AddField(
            model_name='contextsettings',
            name='policy',
            field=models.JSONField(blank=True, default=dict, validators=[context.models.settings.check_policy], verbose_name="assembly policy"),
        ),
        migrations.AddField(
            model_name='contextsettings',
            name='prices',
            field=models.JSONField(blank=True, default=dict, validators=[context.models.settings.check_prices], verbose_name="model prices"),
        ),
        migrations.CreateModel(
            name='ContextCostReport',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('conversation_id', models.CharField(blank=True, max_length=200, verbose_name='conversation')),
                ('thread_id', models.CharField(blank=True, max_length=200, verbose_name='thread')),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('app_id', models.CharField(blank=True, max_length=200, verbose_name='app')),
                ('model', models.CharField(blank=True, max_length=100, verbose_name='model')),
                ('variant', models.CharField(blank=True, max_length=50, verbose_name='variant')),
                ('window', models.PositiveIntegerField(verbose_name='context window')),
                ('reserve', models.PositiveIntegerField(verbose_name="reserved for output")),
                ('total', models.PositiveIntegerField(verbose_name='tokens')),
                ('system', models.PositiveIntegerField(verbose_name='system')),
                ('tools_schema', models.PositiveIntegerField(verbose_name='tools')),
                ('history', models.PositiveIntegerField(verbose_name='history')),
                ('tool_results', models.PositiveIntegerField(verbose_name='tool results')),
                ('injections', models.PositiveIntegerField(verbose_name="added by caller and rules")),
                ('memory_knowledge', models.PositiveIntegerField(verbose_name='memory and knowledge')),
                ('prefix_sha256', models.CharField(max_length=64, verbose_name='digest of the stable prefix')),
                ('actions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=50), blank=True, default=list, size=None, verbose_name='decisions')),
                ('report', models.JSONField(verbose_name='report')),
                ('created_by', models.CharField(max_length=50, verbose_name="requested by")),
                ('created_at', models.DateTimeField(verbose_name="requested")),
                ('success', models.BooleanField(blank=True, null=True, verbose_name='succeeded')),
                ('input_tokens', models.PositiveIntegerField(null=True, verbose_name="input tokens (provider)")),
                ('output_tokens', models.PositiveIntegerField(null=True, verbose_name="output tokens (provider)")),
                ('cached_tokens', models.PositiveIntegerField(null=True, verbose_name="cached tokens (provider)")),
                ('latency_ms', models.PositiveIntegerField(null=True, verbose_name='latency in ms')),
                ('cost', models.DecimalField(decimal_places=8, max_digits=16, null=True, verbose_name='cost')),
                ('outcome_at', models.DateTimeField(null=True, verbose_name="outcome reported")),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'model call',
                'verbose_name_plural': 'model calls',
            },
        ),
        migrations.CreateModel(
            name='ContextInput',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('messages', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name='messages')),
                ('tools', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name='tools')),
                ('refs', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), blank=True, default=list, size=None, verbose_name="retrieved content")),
                ('rest', models.JSONField(verbose_name="other inputs")),
                ('created_at', models.DateTimeField(verbose_name="requested")),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('report', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='inputs', to='context.contextcostreport', verbose_name='call')),
            ],
            options={
                'verbose_name': "call input",
                'verbose_name_plural': "call inputs",
            },
        ),
        migrations.CreateModel(
            name='ContextSummary',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('conversation_id', models.CharField(max_length=200, verbose_name='conversation')),
                ('thread_id', models.CharField(blank=True, max_length=200, verbose_name='thread')),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('digest', models.UUIDField(verbose_name='digest of the messages')),
                ('covers', models.PositiveIntegerField(verbose_name='messages')),
                ('text', models.TextField(verbose_name='summary')),
                ('flushed', models.BooleanField(default=False, verbose_name="sent to memory first")),
                ('created_at', models.DateTimeField(verbose_name='written')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': "conversation summary",
                'verbose_name_plural': "conversation summaries",
            },
        ),
        migrations.CreateModel(
            name='ContextBody',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('text', models.TextField(verbose_name='text')),
                ('used_on', models.DateField(verbose_name='last used')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'part of a call',
                'verbose_name_plural': 'parts of calls',
                'indexes': [models.Index(fields=['account', 'used_on'], name='bodies_by_use')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='body_in_account')],
            },
        ),
        migrations.AddIndex(
            model_name='contextcostreport',
            index=models.Index(fields=['account', '-created_at', '-id'], name='reports_newest_first'),
        ),
        migrations.AddIndex(
            model_name='contextcostreport',
            index=models.Index(fields=['account', 'conversation_id', '-created_at'], name='reports_of_conversation'),
        ),
        migrations.AddIndex(
            model_name='contextcostreport',
            index=models.Index(fields=['account', 'agent_id', '-created_at'], name='reports_of_agent'),
        ),
        migrations.AddIndex(
            model_name='contextcostreport',
            index=models.Index(fields=['account', 'model', '-created_at'], name='reports_of_model'),
        ),
        migrations.AddIndex(
            model_name='contextcostreport',
            index=models.Index(fields=['account', 'variant', '-created_at'], name='reports_of_variant'),
        ),
        migrations.AddConstraint(
            model_name='contextcostreport',
            constraint=models.UniqueConstraint(fields=('account', 'id'), name='report_in_account'),
        ),
        migrations.AddConstraint(
            model_name='contextcostreport',
            constraint=models.CheckConstraint(condition=models.Q(('total', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('system'), '+', models.F('tools_schema')), '+', models.F('history')), '+', models.F('tool_results')), '+', models.F('injections')), '+', models.F('memory_knowledge')))), name='report_adds_up'),
        ),
        migrations.AddIndex(
            model_name='contextinput',
            index=models.Index(fields=['account', 'created_at'], name='inputs_by_age'),
        ),
        migrations.AddConstraint(
            model_name='contextinput',
            constraint=models.UniqueConstraint(fields=('account', 'report'), name='one_input_per_report'),
        ),
        migrations.AddIndex(
            model_name='contextsummary',
            index=models.Index(fields=['account', 'conversation_id', '-covers'], name='summaries_of_conversation'),
        ),
        migrations.AddConstraint(
            model_name='contextsummary',
            constraint=models.UniqueConstraint(fields=('account', 'digest'), name='one_summary_per_digest'),
        ),
    ]
