"""Sources, documents, chunks, lorebook entries and questions."""

import django.contrib.postgres.fields
import django.db.models.constraints
import django.db.models.deletion
import kmapp.database.ids
import knowledge.models.sources
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey

TABLES = (
    "knowledgesource", "knowledgedocument", "knowledgetext", "knowledgepiece", "knowledgechunk",
    "lorebookentry", "erasedknowledge", "knowledgequestion",
)
COMMITTED = (
    "knowledgesource", "knowledgedocument", "knowledgetext", "lorebookentry", "erasedknowledge",
)


class Migration(migrations.Migration):
    replaces = [
        ("knowledge", "0001_initial"), ("knowledge", "0002_isolate"),
        ("knowledge", "0003_questions"),
    ]
    initial = True
    dependencies = [("kmapp", "0001_isolation")]
    operations = [
        migrations.CreateModel(
            name='ErasedKnowledge',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('erased_at', models.DateTimeField(verbose_name='erased')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'erased knowledge',
                'verbose_name_plural': 'erased knowledge',
            },
        ),
        migrations.CreateModel(
            name='KnowledgeSource',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('kind', models.CharField(choices=[('repo_docs', 'repository'), ('file_set', 'files'), ('upload', 'uploads'), ('web_snapshot', 'web pages'), ('lorebook', 'lorebook')], max_length=12, verbose_name='kind')),
                ('trust', models.CharField(choices=[('trusted', 'trusted'), ('semi_trusted', 'semi-trusted'), ('untrusted', 'untrusted')], max_length=12, verbose_name='trust')),
                ('scope', models.CharField(blank=True, max_length=200, verbose_name='scope')),
                ('ref', models.TextField(blank=True, verbose_name='location')),
                ('revision', models.CharField(blank=True, max_length=200, verbose_name='revision')),
                ('index_versions', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), default=knowledge.models.sources.default_indexes, size=None, verbose_name='index versions')),
                ('created_by', models.CharField(max_length=50, verbose_name='created by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('refreshed_at', models.DateTimeField(blank=True, null=True, verbose_name='last synced')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'source',
                'verbose_name_plural': 'sources',
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='source_in_account'), models.UniqueConstraint(fields=('account', 'scope', 'name'), name='one_source_per_name')],
            },
        ),
        migrations.CreateModel(
            name='KnowledgeDocument',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('ref', models.CharField(max_length=1000, verbose_name='path in source')),
                ('title', models.CharField(blank=True, max_length=500, verbose_name='title')),
                ('mime', models.CharField(max_length=100, verbose_name='type')),
                ('url', models.TextField(blank=True, verbose_name='address')),
                ('sha256', models.CharField(max_length=64, verbose_name='file digest')),
                ('size', models.BigIntegerField(verbose_name='bytes')),
                ('version', models.PositiveIntegerField(default=0, verbose_name='version')),
                ('revision', models.CharField(blank=True, max_length=200, verbose_name='revision')),
                ('state', models.CharField(choices=[('pending', 'pending'), ('ready', 'parsed'), ('failed', 'failed')], max_length=7, verbose_name='state')),
                ('error', models.CharField(blank=True, max_length=500, verbose_name='failure reason')),
                ('observed_at', models.DateTimeField(verbose_name='observed')),
                ('removed_at', models.DateTimeField(blank=True, null=True, verbose_name='removed at')),
                ('created_by', models.CharField(max_length=50, verbose_name='written by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('source', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='documents', to='knowledge.knowledgesource', verbose_name='source')),
            ],
            options={
                'verbose_name': 'document',
                'verbose_name_plural': 'documents',
                'indexes': [models.Index(condition=models.Q(('state__in', ('pending', 'failed'))), fields=['account', '-updated_at', '-id'], name='documents_unread'), models.Index(fields=['account', 'source', '-updated_at'], name='documents_of_source')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='document_in_account'), models.UniqueConstraint(fields=('account', 'source', 'ref'), name='one_document_per_place')],
            },
        ),
        migrations.CreateModel(
            name='KnowledgeText',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('version', models.PositiveIntegerField(verbose_name='version')),
                ('sha256', models.CharField(max_length=64, verbose_name='text digest')),
                ('file_sha256', models.CharField(max_length=64, verbose_name='file digest')),
                ('revision', models.CharField(blank=True, max_length=200, verbose_name='revision')),
                ('shape', models.CharField(max_length=10, verbose_name='structure')),
                ('language', models.CharField(blank=True, max_length=20, verbose_name='programming language')),
                ('text', models.TextField(verbose_name='text')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='texts', to='knowledge.knowledgedocument', verbose_name='document')),
            ],
            options={
                'verbose_name': 'text',
                'verbose_name_plural': 'texts',
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='text_in_account'), models.UniqueConstraint(fields=('account', 'document', 'version'), name='one_text_per_version')],
            },
        ),
        migrations.CreateModel(
            name='KnowledgeChunk',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('index_version', models.CharField(max_length=10, verbose_name='index version')),
                ('chunk_index', models.PositiveIntegerField(verbose_name='number')),
                ('start', models.PositiveIntegerField(verbose_name='start offset')),
                ('end', models.PositiveIntegerField(verbose_name='end offset')),
                ('line_start', models.PositiveIntegerField(verbose_name='first line')),
                ('line_end', models.PositiveIntegerField(verbose_name='last line')),
                ('page', models.PositiveIntegerField(null=True, verbose_name='page')),
                ('headings', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), default=list, size=None, verbose_name='headings')),
                ('sha256', models.CharField(max_length=64, verbose_name='digest')),
                ('text', models.TextField(verbose_name='text')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='chunks', to='knowledge.knowledgedocument', verbose_name='document')),
                ('text_row', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='knowledge.knowledgetext', verbose_name='source text')),
            ],
            options={
                'verbose_name': 'chunk',
                'verbose_name_plural': 'chunks',
                'constraints': [models.UniqueConstraint(deferrable=django.db.models.constraints.Deferrable['DEFERRED'], fields=('account', 'document', 'index_version', 'chunk_index'), name='one_chunk_per_number')],
            },
        ),
        migrations.CreateModel(
            name='LorebookEntry',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(blank=True, max_length=200, verbose_name='name')),
                ('content', models.TextField(verbose_name='text')),
                ('keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, size=None, verbose_name='keys')),
                ('secondary_keys', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=500), blank=True, default=list, size=None, verbose_name='secondary keys')),
                ('secondary_logic', models.CharField(choices=[('and_any', 'any of them matches'), ('and_all', 'all of them match'), ('not_any', 'none of them matches'), ('not_all', 'not all of them match')], default='and_any', max_length=7, verbose_name='secondary key logic')),
                ('regex', models.BooleanField(default=False, verbose_name='keys are regular expressions')),
                ('case_sensitive', models.BooleanField(default=False, verbose_name='case-sensitive')),
                ('whole_words', models.BooleanField(default=False, verbose_name='whole words only')),
                ('constant', models.BooleanField(default=False, verbose_name='always fires')),
                ('enabled', models.BooleanField(default=True, verbose_name='enabled')),
                ('priority', models.IntegerField(default=0, verbose_name='priority')),
                ('order', models.IntegerField(default=100, verbose_name='order')),
                ('budget_weight', models.FloatField(default=1.0, verbose_name='budget weight')),
                ('scope', models.CharField(blank=True, max_length=200, verbose_name='scope')),
                ('scan_depth', models.PositiveIntegerField(blank=True, null=True, verbose_name='scan depth (messages)')),
                ('recursive', models.BooleanField(default=True, verbose_name='recursive')),
                ('recursable', models.BooleanField(default=True, verbose_name='can be fired by other entries')),
                ('sticky', models.PositiveIntegerField(default=0, verbose_name='sticky (turns)')),
                ('cooldown', models.PositiveIntegerField(default=0, verbose_name='cooldown (turns)')),
                ('uid', models.CharField(blank=True, max_length=100, verbose_name='original id')),
                ('version', models.PositiveIntegerField(default=1, verbose_name='version')),
                ('created_by', models.CharField(max_length=50, verbose_name='written by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('source', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='knowledge.knowledgesource', verbose_name='lorebook')),
            ],
            options={
                'verbose_name': 'lore',
                'verbose_name_plural': 'lore',
                'indexes': [models.Index(fields=['account', 'source', 'order'], name='lore_of_source')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='lore_in_account')],
            },
        ),
        migrations.CreateModel(
            name='KnowledgePiece',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('data', models.BinaryField(verbose_name='bytes')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('document', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='pieces', to='knowledge.knowledgedocument', verbose_name='document')),
            ],
            options={
                'verbose_name': 'file part',
                'verbose_name_plural': 'file parts',
                'constraints': [models.UniqueConstraint(fields=('account', 'document', 'number'), name='one_piece_per_number')],
            },
        ),
        migrations.CreateModel(
            name='KnowledgeQuestion',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('text', models.CharField(max_length=500, verbose_name='question')),
                ('created_by', models.CharField(max_length=50, verbose_name='written by')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'question',
                'verbose_name_plural': 'questions',
                'constraints': [models.UniqueConstraint(fields=('account', 'text'), name='one_question_per_text')],
            },
        ),
        *(EnableRowLevelSecurity(f"knowledge_{table}") for table in TABLES),
        SameAccountForeignKey("knowledge_knowledgedocument", "source_id", "knowledge_knowledgesource"),
        SameAccountForeignKey("knowledge_knowledgetext", "document_id", "knowledge_knowledgedocument"),
        SameAccountForeignKey("knowledge_knowledgepiece", "document_id", "knowledge_knowledgedocument"),
        SameAccountForeignKey("knowledge_knowledgechunk", "document_id", "knowledge_knowledgedocument"),
        SameAccountForeignKey("knowledge_knowledgechunk", "text_row_id", "knowledge_knowledgetext"),
        SameAccountForeignKey("knowledge_lorebookentry", "source_id", "knowledge_knowledgesource"),
        *(SameAccountForeignKey(f"knowledge_{table}", "commit_id", "ledger_commit") for table in COMMITTED),
    ]
