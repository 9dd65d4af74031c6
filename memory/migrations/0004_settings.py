"""What an account wants done with memories."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import kmapp.database.ids
import memory.models.settings
from django.db import migrations, models

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_initial'),
        ('ledger', '0001_initial'),
        ('memory', '0003_entries_of_everyone'),
        ('kmapp', '0002_doors'),
    ]

    operations = [
        migrations.CreateModel(
            name='MemorySettings',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('memory_enabled', models.BooleanField(default=True, verbose_name="inject memories into prompts")),
                ('auto_store', models.BooleanField(default=True, verbose_name="store useful results automatically")),
                ('store_threshold', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name="minimum value to store")),
                ('inject_max_memories', models.PositiveSmallIntegerField(default=5, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(50)], verbose_name="maximum memories per prompt")),
                ('min_score', models.FloatField(default=0.0, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name="minimum score")),
                ('review_visibilities', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('conversation', 'this conversation'), ('user', 'this user'), ('account', 'everyone')], max_length=12), blank=True, default=list, size=None, verbose_name="visibilities that need review")),
                ('review_kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('fact', 'fact'), ('preference', 'preference'), ('skill', 'skill'), ('pattern', 'pattern'), ('context', 'context'), ('project_state', 'project state'), ('summary', 'summary'), ('bookmark', 'bookmark'), ('procedure', 'procedure'), ('event', 'event'), ('entity', 'entity'), ('topic', 'topic'), ('concept', 'concept'), ('evidence', 'evidence'), ('self_model', 'self model')], max_length=15), blank=True, default=list, size=None, verbose_name="kinds that need review")),
                ('review_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=36), blank=True, default=list, size=None, verbose_name="API keys whose memories need review")),
                ('duplicate_score', models.FloatField(default=0.65, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name="near-duplicate threshold")),
                ('contradiction_score', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name="contradiction threshold")),
                ('forget_after', models.JSONField(blank=True, default=dict, validators=[memory.models.settings.validate_retention_days], verbose_name="retention by kind (days)")),
                ('version', models.PositiveIntegerField(default=0, verbose_name='version')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': "memory settings",
                'verbose_name_plural': "memory settings",
                'constraints': [models.UniqueConstraint(fields=('account',), name='one_settings_per_account'), models.CheckConstraint(condition=models.Q(('store_threshold__gte', 0), ('store_threshold__lte', 1)), name='settings_store_threshold_between_0_and_1'), models.CheckConstraint(condition=models.Q(('min_score__gte', 0), ('min_score__lte', 1)), name='settings_min_score_between_0_and_1'), models.CheckConstraint(condition=models.Q(('duplicate_score__gte', 0), ('duplicate_score__lte', 1)), name='settings_duplicate_score_between_0_and_1'), models.CheckConstraint(condition=models.Q(('contradiction_score__gte', 0), ('contradiction_score__lte', 1)), name='settings_contradiction_score_between_0_and_1'), models.CheckConstraint(condition=models.Q(('inject_max_memories__gte', 1), ('inject_max_memories__lte', 50)), name='inject_some_memories')],
            },
        ),
        EnableRowLevelSecurity("memory_memorysettings"),
        SameAccountForeignKey("memory_memorysettings", "commit_id", "ledger_commit"),
    ]
