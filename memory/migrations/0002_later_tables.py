"""Tables and columns added since the first release.

Foreign keys to existing tables come last: each locks its target until the transaction commits.
"""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import kmapp.database.ids
import memory.models.settings
from django.conf import settings
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey

TABLES = (
    "memorysettings", "memoryrating", "extraction", "bulkrun", "bulkpart", "finding",
    "reviewlease", "triage", "savedview", "memoryexport", "topicsuggestion",
)
COMMITTED = ("memorysettings", "memoryrating", "memoryexport")


class Migration(migrations.Migration):
    replaces = [
        ("memory", "0004_settings"), ("memory", "0005_ratings"), ("memory", "0006_extractions"),
        ("memory", "0007_review_queue"), ("memory", "0008_views_and_exports"),
        ("memory", "0009_drafts_of_topics"), ("memory", "0010_forgetting_many"),
        ("memory", "0011_what_is_noted"), ("memory", "0013_suggestions_about_topics"),
        ("memory", "0015_quotas_of_keys"), ("memory", "0018_commits_of_erased"),
    ]
    dependencies = [("memory", "0001_schema")]
    operations = [
        migrations.CreateModel(
            name='MemorySettings',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('memory_enabled', models.BooleanField(default=True, verbose_name='inject memories into prompts')),
                ('auto_store', models.BooleanField(default=True, verbose_name='store useful results automatically')),
                ('store_threshold', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='minimum value to store')),
                ('inject_max_memories', models.PositiveSmallIntegerField(default=5, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(50)], verbose_name='maximum memories per prompt')),
                ('min_score', models.FloatField(default=0.0, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='minimum score')),
                ('review_visibilities', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('conversation', 'this conversation'), ('user', 'this user'), ('account', 'everyone')], max_length=12), blank=True, default=list, size=None, verbose_name='visibilities that need review')),
                ('review_kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('fact', 'fact'), ('preference', 'preference'), ('skill', 'skill'), ('pattern', 'pattern'), ('context', 'context'), ('project_state', 'project state'), ('summary', 'summary'), ('bookmark', 'bookmark'), ('procedure', 'procedure'), ('event', 'event'), ('entity', 'entity'), ('topic', 'topic'), ('concept', 'concept'), ('evidence', 'evidence'), ('self_model', 'self model')], max_length=15), blank=True, default=list, size=None, verbose_name='kinds that need review')),
                ('review_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=36), blank=True, default=list, size=None, verbose_name='API keys whose memories need review')),
                ('duplicate_score', models.FloatField(default=0.65, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='near-duplicate threshold')),
                ('contradiction_score', models.FloatField(default=0.5, validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1)], verbose_name='contradiction threshold')),
                ('forget_after', models.JSONField(blank=True, default=dict, validators=[memory.models.settings.validate_retention_days], verbose_name='retention by kind (days)')),
                ('version', models.PositiveIntegerField(default=0, verbose_name='version')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('categories', models.JSONField(blank=True, default=dict, validators=[memory.models.settings.validate_categories], verbose_name='categories of facts')),
                ('instructions', models.TextField(blank=True, max_length=4000, validators=[django.core.validators.MaxLengthValidator(4000)], verbose_name='additional extraction instructions')),
                ('daily_writes', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='memories per key per day')),
                ('open_proposals', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='pending proposals per key')),
            ],
            options={
                'verbose_name': 'memory settings',
                'verbose_name_plural': 'memory settings',
                'constraints': [models.UniqueConstraint(fields=('account',), name='one_settings_per_account'), models.CheckConstraint(condition=models.Q(('store_threshold__gte', 0), ('store_threshold__lte', 1)), name='settings_store_threshold_between_0_and_1'), models.CheckConstraint(condition=models.Q(('min_score__gte', 0), ('min_score__lte', 1)), name='settings_min_score_between_0_and_1'), models.CheckConstraint(condition=models.Q(('duplicate_score__gte', 0), ('duplicate_score__lte', 1)), name='settings_duplicate_score_between_0_and_1'), models.CheckConstraint(condition=models.Q(('contradiction_score__gte', 0), ('contradiction_score__lte', 1)), name='settings_contradiction_score_between_0_and_1'), models.CheckConstraint(condition=models.Q(('inject_max_memories__gte', 1), ('inject_max_memories__lte', 50)), name='inject_some_memories')],
            },
        ),
        migrations.CreateModel(
            name='MemoryRating',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('rater', models.CharField(max_length=50, verbose_name='rated by')),
                ('used_in', models.CharField(blank=True, max_length=200, verbose_name='used in run')),
                ('outcome', models.CharField(choices=[('positive', 'useful'), ('neutral', 'neutral'), ('negative', 'outdated'), ('very_negative', 'wrong')], max_length=13, verbose_name='outcome')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('created_at', models.DateTimeField(verbose_name='rated')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='ratings', to='memory.memoryentry', verbose_name='memory')),
            ],
            options={
                'verbose_name': 'rating',
                'verbose_name_plural': 'ratings',
                'indexes': [models.Index(fields=['account', '-created_at'], name='ratings_newest_first')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='rating_in_account'), models.UniqueConstraint(fields=('account', 'entry', 'rater', 'used_in'), name='one_rating_each'), models.CheckConstraint(condition=models.Q(('outcome__in', ['positive', 'neutral', 'negative', 'very_negative'])), name='rating_has_known_outcome')],
            },
        ),
        migrations.CreateModel(
            name='Extraction',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('conversation', 'conversation'), ('task', 'completed task'), ('procedure', 'run record'), ('rewrite', 'instruction')], max_length=12, verbose_name='kind')),
                ('actor', models.CharField(max_length=50, verbose_name='requested by')),
                ('scope', models.CharField(blank=True, max_length=200, verbose_name='scope')),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('app_id', models.CharField(blank=True, max_length=200, verbose_name='app')),
                ('run_id', models.CharField(blank=True, max_length=200, verbose_name='run')),
                ('metadata', models.JSONField(blank=True, default=dict, verbose_name='metadata')),
                ('said', models.JSONField(blank=True, default=dict, verbose_name='original text')),
                ('memories', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name='memories')),
                ('observed_at', models.DateTimeField(verbose_name='observed')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('result', models.JSONField(blank=True, null=True, verbose_name='result')),
                ('problem', models.CharField(blank=True, max_length=500, verbose_name='problem')),
                ('answer', models.TextField(blank=True, verbose_name='unusable model response')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'extraction',
                'verbose_name_plural': 'extractions',
                'indexes': [models.Index(fields=['account', '-created_at', '-id'], name='extractions_newest_first'), models.Index(condition=models.Q(('finished_at', None)), fields=['account'], name='extractions_waiting')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='extraction_in_account')],
            },
        ),
        migrations.AlterField(
            model_name='memoryversion',
            name='event',
            field=models.CharField(choices=[('ADD', 'added'), ('PROPOSE', 'proposed'), ('UPDATE', 'changed'), ('APPROVE', 'approved'), ('REJECT', 'rejected'), ('PIN', 'pinned'), ('UNPIN', 'unpinned'), ('FORGET', 'forgotten'), ('SUPERSEDE', 'superseded'), ('RATE', 'rated'), ('MERGE', 'merged'), ('UNDO', 'undone')], max_length=10, verbose_name='event'),
        ),
        migrations.CreateModel(
            name='BulkRun',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('deed', models.CharField(choices=[('approve', 'Approve'), ('reject', 'Reject'), ('forget', 'Forget')], max_length=7, verbose_name='action')),
                ('actor', models.CharField(max_length=50, verbose_name='actor')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('asked', models.PositiveIntegerField(verbose_name='requested count')),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('undone_at', models.DateTimeField(null=True, verbose_name='undone')),
                ('undone_by', models.CharField(blank=True, max_length=50, verbose_name='undone by')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'bulk action',
                'verbose_name_plural': 'bulk actions',
                'indexes': [models.Index(fields=['account', '-created_at'], name='runs_newest_first')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='run_in_account')],
            },
        ),
        migrations.CreateModel(
            name='BulkPart',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('chosen', models.JSONField(verbose_name='selection')),
                ('done', models.PositiveIntegerField(null=True, verbose_name='done')),
                ('restored', models.PositiveIntegerField(null=True, verbose_name='undone')),
                ('decided_in', models.UUIDField(null=True, verbose_name='commit')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='memory.bulkrun', verbose_name='bulk action')),
            ],
            options={
                'verbose_name': 'item of a bulk action',
                'verbose_name_plural': 'items of bulk actions',
                'constraints': [models.UniqueConstraint(fields=('account', 'run', 'number'), name='one_part_per_number'), models.CheckConstraint(condition=models.Q(('decided_in__isnull', True), ('done__gt', 0), _connector='OR'), name='part_with_commit_decided_something')],
            },
        ),
        migrations.CreateModel(
            name='Finding',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('risk', 'risk'), ('personal', 'personal data'), ('contradiction', 'contradiction'), ('update', 'update'), ('duplicate', 'near-duplicate'), ('similar', 'similar')], max_length=13, verbose_name='kind')),
                ('name', models.CharField(blank=True, max_length=30, verbose_name='name')),
                ('score', models.FloatField(default=1.0, verbose_name='score')),
                ('details', models.JSONField(default=dict, verbose_name='evidence')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='found')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='findings', to='memory.memoryentry', verbose_name='memory')),
                ('other', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='found_beside', to='memory.memoryentry', verbose_name='compared with')),
            ],
            options={
                'verbose_name': 'finding',
                'verbose_name_plural': 'findings',
                'indexes': [models.Index(fields=['account', 'other'], name='findings_beside')],
                'constraints': [models.UniqueConstraint(fields=('account', 'entry', 'kind', 'name', 'other'), name='one_finding_of_a_kind', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='ReviewLease',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('holder', models.CharField(max_length=50, verbose_name='locked by')),
                ('token', models.UUIDField(verbose_name='lease')),
                ('until', models.DateTimeField(verbose_name='locked until')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='lease', to='memory.memoryentry', verbose_name='memory')),
            ],
            options={
                'verbose_name': 'lease',
                'verbose_name_plural': 'leases',
                'indexes': [models.Index(fields=['account', 'holder'], name='leases_by_holder')],
            },
        ),
        migrations.CreateModel(
            name='Triage',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('need', models.CharField(choices=[('flagged', 'Flagged'), ('contradiction', 'Contradiction'), ('update', 'Update'), ('duplicate', 'Near-duplicate'), ('new', 'New')], max_length=13, verbose_name='priority')),
                ('version', models.PositiveIntegerField(verbose_name='version')),
                ('by_meaning', models.BooleanField(verbose_name='compared by meaning')),
                ('checked_at', models.DateTimeField(verbose_name='checked')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='triage', to='memory.memoryentry', verbose_name='memory')),
            ],
            options={
                'verbose_name': 'triage',
                'verbose_name_plural': 'triage',
                'indexes': [models.Index(fields=['account', 'need'], name='triage_by_need')],
            },
        ),
        migrations.CreateModel(
            name='MemoryExport',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('taken_by', models.CharField(max_length=50, verbose_name='exported by')),
                ('form', models.CharField(choices=[('csv', 'CSV'), ('ndjson', 'NDJSON')], max_length=6, verbose_name='format')),
                ('query', models.CharField(blank=True, max_length=4000, verbose_name='address')),
                ('number', models.PositiveIntegerField(verbose_name='memories')),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'export',
                'verbose_name_plural': 'exports',
                'indexes': [models.Index(fields=['account', '-created_at'], name='exports_newest_first')],
            },
        ),
        migrations.CreateModel(
            name='SavedView',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('shared', models.BooleanField(default=False, verbose_name='shared')),
                ('query', models.CharField(blank=True, max_length=4000, verbose_name='address')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
            ],
            options={
                'verbose_name': 'saved view',
                'verbose_name_plural': 'saved views',
                'constraints': [models.UniqueConstraint(fields=('account', 'owner', 'name'), name='one_view_per_name')],
            },
        ),
        migrations.AlterField(
            model_name='memoryentry',
            name='status',
            field=models.CharField(choices=[('proposed', 'proposed'), ('active', 'active'), ('superseded', 'superseded'), ('rejected', 'rejected'), ('forgotten', 'forgotten'), ('draft', 'draft')], max_length=10, verbose_name='status'),
        ),
        migrations.CreateModel(
            name='TopicSuggestion',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('merge', 'Merge'), ('split', 'Split')], max_length=5, verbose_name='kind')),
                ('members', models.JSONField(default=list, verbose_name='memories')),
                ('score', models.FloatField(verbose_name='score')),
                ('state', models.CharField(choices=[('open', 'open'), ('followed', 'accepted'), ('declined', 'declined')], default='open', max_length=8, verbose_name='state')),
                ('decided_by', models.CharField(blank=True, max_length=50, verbose_name='decided by')),
                ('decided_at', models.DateTimeField(blank=True, null=True, verbose_name='decided')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='suggested at')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('other', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.memoryentry', verbose_name='other topic')),
                ('topic', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.memoryentry', verbose_name='topic')),
            ],
            options={
                'verbose_name': 'topic suggestion',
                'verbose_name_plural': 'topic suggestions',
                'indexes': [models.Index(condition=models.Q(('state', 'open')), fields=['account', '-score'], name='suggestions_open'), models.Index(fields=['account', 'other'], name='suggestions_beside')],
                'constraints': [models.UniqueConstraint(fields=('account', 'kind', 'topic', 'other'), name='one_suggestion_each', nulls_distinct=False), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'split'), ('other__isnull', True)), models.Q(('kind', 'merge'), ('other__isnull', False)), _connector='OR'), name='merge_has_two_topics')],
            },
        ),
        migrations.AddField(
            model_name='erasedentry',
            name='commits',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), db_default=[], default=list, editable=False, size=None),
        ),
        *(EnableRowLevelSecurity(f"memory_{table}") for table in TABLES),
        SameAccountForeignKey("memory_memoryrating", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_bulkpart", "run_id", "memory_bulkrun"),
        SameAccountForeignKey("memory_finding", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_finding", "other_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_reviewlease", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_triage", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_topicsuggestion", "topic_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_topicsuggestion", "other_id", "memory_memoryentry"),
        *(SameAccountForeignKey(f"memory_{table}", "commit_id", "ledger_commit") for table in COMMITTED),
    ]
