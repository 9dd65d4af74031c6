"""Memories, their edges, versions and erasures, as in the first release."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey

TABLES = ("memoryentry", "memoryversion", "memoryedge", "erasedentry")


class Migration(migrations.Migration):
    replaces = [
        ("memory", "0001_initial"), ("memory", "0002_isolate"),
        ("memory", "0003_entries_of_everyone"),
    ]
    initial = True
    dependencies = [("kmapp", "0001_isolation")]
    operations = [
        migrations.CreateModel(
            name='ErasedEntry',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('erased_at', models.DateTimeField(verbose_name='erased')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'erased memory',
                'verbose_name_plural': 'erased memories',
            },
        ),
        migrations.CreateModel(
            name='MemoryEntry',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('scope', models.CharField(blank=True, max_length=200, verbose_name='scope')),
                ('client_id', models.CharField(blank=True, max_length=200, null=True, verbose_name='client id')),
                ('written_in', models.UUIDField(editable=False, verbose_name='written in')),
                ('written_sha256', models.CharField(blank=True, editable=False, max_length=64)),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('app_id', models.CharField(blank=True, max_length=200, verbose_name='app')),
                ('run_id', models.CharField(blank=True, max_length=200, verbose_name='run')),
                ('visibility', models.CharField(choices=[('conversation', 'this conversation'), ('user', 'this user'), ('account', 'everyone')], max_length=12, verbose_name='visible to')),
                ('kind', models.CharField(choices=[('fact', 'fact'), ('preference', 'preference'), ('skill', 'skill'), ('pattern', 'pattern'), ('context', 'context'), ('project_state', 'project state'), ('summary', 'summary'), ('bookmark', 'bookmark'), ('procedure', 'procedure'), ('event', 'event'), ('entity', 'entity'), ('topic', 'topic'), ('concept', 'concept'), ('evidence', 'evidence'), ('self_model', 'self model')], max_length=15, verbose_name='kind')),
                ('title', models.CharField(blank=True, max_length=500, verbose_name='title')),
                ('content', models.TextField(verbose_name='content')),
                ('slots', models.JSONField(blank=True, default=dict, verbose_name='metadata')),
                ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), default=list, size=None, verbose_name='tags')),
                ('entities', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), default=list, size=None, verbose_name='entities')),
                ('sources', models.JSONField(default=list, verbose_name='sources')),
                ('raw_ref', models.TextField(blank=True, verbose_name='raw reference')),
                ('evidence_ref', models.TextField(blank=True, verbose_name='evidence reference')),
                ('flags', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=30), default=list, size=None, verbose_name='flags')),
                ('importance', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='importance')),
                ('confidence', models.FloatField(default=1.0, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='confidence')),
                ('salience', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='salience')),
                ('half_life_days', models.FloatField(blank=True, null=True, verbose_name='half-life in days')),
                ('tier', models.CharField(choices=[('hot', 'hot'), ('warm', 'warm'), ('cold', 'cold'), ('archive', 'archive')], default='hot', max_length=7, verbose_name='tier')),
                ('pinned', models.BooleanField(default=False, verbose_name='pinned')),
                ('status', models.CharField(choices=[('proposed', 'proposed'), ('active', 'active'), ('superseded', 'superseded'), ('rejected', 'rejected'), ('forgotten', 'forgotten')], max_length=10, verbose_name='status')),
                ('observed_at', models.DateTimeField(verbose_name='observed')),
                ('valid_from', models.DateTimeField(blank=True, null=True, verbose_name='valid from')),
                ('valid_to', models.DateTimeField(blank=True, null=True, verbose_name='valid until')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('position', models.PositiveIntegerField(default=0, verbose_name='position in batch')),
                ('version', models.PositiveIntegerField(default=1, verbose_name='version')),
                ('created_by', models.CharField(max_length=50, verbose_name='written by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('access_count', models.PositiveIntegerField(default=0, verbose_name='recalls')),
                ('last_accessed_at', models.DateTimeField(blank=True, null=True, verbose_name='last recalled')),
                ('last_activated_at', models.DateTimeField(blank=True, null=True, verbose_name='last activated')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'memory',
                'verbose_name_plural': 'memories',
                'indexes': [models.Index(fields=['account', 'user_id', 'status'], name='entries_of_user'), models.Index(fields=['account', 'run_id', 'observed_at'], name='entries_of_run'), models.Index(fields=['account', 'agent_id', 'status'], name='entries_of_agent'), models.Index(fields=['account', 'status', 'created_at'], name='entries_by_status'), models.Index(fields=['account', '-created_at', '-id'], name='entries_newest_first'), models.Index(condition=models.Q(('visibility', 'account')), fields=['account', 'status'], name='entries_of_everyone')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='entry_in_account'), models.UniqueConstraint(fields=('account', 'scope', 'client_id'), name='one_entry_per_client_id'), models.CheckConstraint(condition=models.Q(('importance__gte', 0), ('importance__lte', 1)), name='importance_between_0_and_1'), models.CheckConstraint(condition=models.Q(('confidence__gte', 0), ('confidence__lte', 1)), name='confidence_between_0_and_1'), models.CheckConstraint(condition=models.Q(('salience__gte', 0), ('salience__lte', 1)), name='salience_between_0_and_1')],
            },
        ),
        migrations.CreateModel(
            name='MemoryEdge',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('type', models.CharField(choices=[('next', 'is followed by'), ('part_of', 'is part of'), ('related_to', 'is related to'), ('derived_from', 'is derived from'), ('mentions', 'mentions'), ('supersedes', 'supersedes'), ('contradicts', 'contradicts')], max_length=15, verbose_name='type')),
                ('weight', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='weight')),
                ('confidence', models.FloatField(default=1.0, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='confidence')),
                ('decay_rate', models.FloatField(default=0.0, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='decay rate')),
                ('last_activated_at', models.DateTimeField(blank=True, null=True, verbose_name='last activated')),
                ('origin', models.CharField(choices=[('written', 'written'), ('derived', 'derived')], default='written', max_length=7, verbose_name='origin')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('dst', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='edges_in', to='memory.memoryentry', verbose_name='to')),
                ('src', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='edges_out', to='memory.memoryentry', verbose_name='from')),
            ],
            options={
                'verbose_name': 'edge',
                'verbose_name_plural': 'edges',
                'indexes': [models.Index(fields=['account', 'dst'], name='edges_by_target')],
                'constraints': [models.UniqueConstraint(fields=('account', 'src', 'dst', 'type'), name='one_edge_per_type'), models.CheckConstraint(condition=models.Q(('src', models.F('dst')), _negated=True), name='edge_joins_two_entries'), models.CheckConstraint(condition=models.Q(models.Q(('commit__isnull', True), ('origin', 'derived')), models.Q(('commit__isnull', False), ('origin', 'written')), _connector='OR'), name='written_edge_has_commit')],
            },
        ),
        migrations.CreateModel(
            name='MemoryVersion',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('version', models.PositiveIntegerField(verbose_name='version')),
                ('event', models.CharField(choices=[('ADD', 'added'), ('PROPOSE', 'proposed'), ('UPDATE', 'changed'), ('APPROVE', 'approved'), ('REJECT', 'rejected'), ('PIN', 'pinned'), ('UNPIN', 'unpinned'), ('FORGET', 'forgotten'), ('SUPERSEDE', 'superseded'), ('UNDO', 'undone')], max_length=10, verbose_name='event')),
                ('state', models.JSONField(verbose_name='state')),
                ('actor', models.CharField(max_length=50, verbose_name='actor')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='memory.memoryentry', verbose_name='memory')),
            ],
            options={
                'verbose_name': 'version',
                'verbose_name_plural': 'versions',
                'indexes': [models.Index(fields=['account', '-created_at'], name='versions_newest_first')],
                'constraints': [models.UniqueConstraint(fields=('account', 'entry', 'version'), name='one_state_per_version')],
            },
        ),
        *(EnableRowLevelSecurity(f"memory_{table}") for table in TABLES),
        SameAccountForeignKey("memory_memoryversion", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_memoryedge", "src_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_memoryedge", "dst_id", "memory_memoryentry"),
        *(SameAccountForeignKey(f"memory_{table}", "commit_id", "ledger_commit") for table in TABLES),
    ]
