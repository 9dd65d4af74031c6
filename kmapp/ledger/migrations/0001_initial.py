import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name='Commit',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('format', models.PositiveSmallIntegerField(default=1, verbose_name='format')),
                ('seq', models.BigIntegerField(verbose_name='number')),
                ('parent_hash', models.CharField(max_length=64, verbose_name='parent hash')),
                ('commit_hash', models.CharField(max_length=64, verbose_name='commit hash')),
                ('actor', models.CharField(max_length=50, verbose_name='actor')),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('input_digest', models.CharField(max_length=64, verbose_name='input digest')),
                ('diff', models.JSONField(verbose_name='changes')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'commit',
                'verbose_name_plural': 'commits',
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='commit_in_account'), models.UniqueConstraint(fields=('account', 'seq'), name='one_commit_per_number'), models.UniqueConstraint(fields=('account', 'parent_hash'), name='no_forks')],
            },
        ),
        migrations.CreateModel(
            name='Note',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('salt', models.BinaryField(max_length=16, null=True, verbose_name='salt')),
                ('input', models.JSONField(null=True, verbose_name='input')),
                ('reason', models.TextField(blank=True, verbose_name='reason')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='note', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'note',
                'verbose_name_plural': 'notes',
            },
        ),
        migrations.CreateModel(
            name='Seal',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('object_type', models.CharField(max_length=50, verbose_name='object type')),
                ('object_id', models.UUIDField(verbose_name='object')),
                ('op', models.CharField(max_length=20, verbose_name='change')),
                ('salt', models.BinaryField(max_length=16, verbose_name='salt')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='seals', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'seal',
                'verbose_name_plural': 'seals',
                'constraints': [models.UniqueConstraint(fields=('account', 'object_type', 'object_id', 'commit'), name='one_seal_per_object_and_commit')],
            },
        ),
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('seq', models.BigIntegerField(verbose_name='number')),
                ('commit_hash', models.CharField(max_length=64, verbose_name='commit hash')),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('signature', models.CharField(max_length=128, verbose_name='signature')),
                ('key_id', models.CharField(max_length=64, verbose_name='signing key')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'checkpoint',
                'verbose_name_plural': 'checkpoints',
                'indexes': [models.Index(fields=['account', '-seq'], name='checkpoints_newest_first')],
            },
        ),
    ]
