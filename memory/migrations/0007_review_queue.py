"""What the review queue knows of proposals, who has which in hand, and bulk decisions."""

import django.db.models.deletion
import django.db.models.functions.datetime
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_initial'),
        ('memory', '0006_extractions'),
    ]

    operations = [
        migrations.AlterField(
            model_name='memoryversion',
            name='event',
            field=models.CharField(choices=[('ADD', 'added'), ('PROPOSE', 'proposed'), ('UPDATE', 'changed'), ('APPROVE', 'approved'), ('REJECT', 'rejected'), ('PIN', 'pinned'), ('UNPIN', 'unpinned'), ('FORGET', 'forgotten'), ('SUPERSEDE', 'superseded'), ('RATE', 'rated'), ('MERGE', 'merged'), ('UNDO', "undone")], max_length=10, verbose_name='event'),
        ),
        migrations.CreateModel(
            name='BulkRun',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('deed', models.CharField(choices=[('approve', 'Approve'), ('reject', 'Reject')], max_length=7, verbose_name="action")),
                ('actor', models.CharField(max_length=50, verbose_name='actor')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('asked', models.PositiveIntegerField(verbose_name="requested count")),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('undone_at', models.DateTimeField(null=True, verbose_name="undone")),
                ('undone_by', models.CharField(blank=True, max_length=50, verbose_name="undone by")),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': "bulk action",
                'verbose_name_plural': "bulk actions",
            },
        ),
        migrations.CreateModel(
            name='BulkPart',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('chosen', models.JSONField(verbose_name="selection")),
                ('done', models.PositiveIntegerField(null=True, verbose_name='done')),
                ('restored', models.PositiveIntegerField(null=True, verbose_name="undone")),
                ('decided_in', models.UUIDField(null=True, verbose_name='commit')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('run', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='memory.bulkrun', verbose_name="bulk action")),
            ],
            options={
                'verbose_name': "item of a bulk action",
                'verbose_name_plural': "items of bulk actions",
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
                ('other', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='found_beside', to='memory.memoryentry', verbose_name="compared with")),
            ],
            options={
                'verbose_name': 'finding',
                'verbose_name_plural': 'findings',
            },
        ),
        migrations.CreateModel(
            name='ReviewLease',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('holder', models.CharField(max_length=50, verbose_name="locked by")),
                ('token', models.UUIDField(verbose_name='lease')),
                ('until', models.DateTimeField(verbose_name="locked until")),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='lease', to='memory.memoryentry', verbose_name='memory')),
            ],
            options={
                'verbose_name': 'lease',
                'verbose_name_plural': 'leases',
            },
        ),
        migrations.CreateModel(
            name='Triage',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('need', models.CharField(choices=[('flagged', 'Flagged'), ('contradiction', 'Contradiction'), ('update', 'Update'), ('duplicate', 'Near-duplicate'), ('new', 'New')], max_length=13, verbose_name="priority")),
                ('version', models.PositiveIntegerField(verbose_name='version')),
                ('by_meaning', models.BooleanField(verbose_name='compared by meaning')),
                ('checked_at', models.DateTimeField(verbose_name='checked')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('entry', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='triage', to='memory.memoryentry', verbose_name='memory')),
            ],
            options={
                'verbose_name': 'triage',
                'verbose_name_plural': 'triage',
            },
        ),
        migrations.AddIndex(
            model_name='bulkrun',
            index=models.Index(fields=['account', '-created_at'], name='runs_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='bulkrun',
            constraint=models.UniqueConstraint(fields=('account', 'id'), name='run_in_account'),
        ),
        migrations.AddConstraint(
            model_name='bulkpart',
            constraint=models.UniqueConstraint(fields=('account', 'run', 'number'), name='one_part_per_number'),
        ),
        migrations.AddConstraint(
            model_name='bulkpart',
            constraint=models.CheckConstraint(condition=models.Q(('decided_in__isnull', True), ('done__gt', 0), _connector='OR'), name='part_with_commit_decided_something'),
        ),
        migrations.AddIndex(
            model_name='finding',
            index=models.Index(fields=['account', 'other'], name='findings_beside'),
        ),
        migrations.AddConstraint(
            model_name='finding',
            constraint=models.UniqueConstraint(fields=('account', 'entry', 'kind', 'name', 'other'), name='one_finding_of_a_kind', nulls_distinct=False),
        ),
        migrations.AddIndex(
            model_name='reviewlease',
            index=models.Index(fields=['account', 'holder'], name='leases_by_holder'),
        ),
        migrations.AddIndex(
            model_name='triage',
            index=models.Index(fields=['account', 'need'], name='triage_by_need'),
        ),
        # Built by 0017, beside writers: this table may be long.
        migrations.SeparateDatabaseAndState(state_operations=[migrations.AddIndex(
            model_name='memoryversion',
            index=models.Index(condition=models.Q(('event__in', ['APPROVE', 'REJECT', 'MERGE'])), fields=['account', 'created_at'], name='decisions_by_time'),
        )]),
        *(
            EnableRowLevelSecurity(f"memory_{table}")
            for table in ("bulkrun", "bulkpart", "finding", "reviewlease", "triage")
        ),
        SameAccountForeignKey("memory_bulkpart", "run_id", "memory_bulkrun"),
        SameAccountForeignKey("memory_finding", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_finding", "other_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_reviewlease", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_triage", "entry_id", "memory_memoryentry"),
    ]
