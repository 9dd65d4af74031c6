"""Judgements, and the rankings that accounts learn from them."""

import django.contrib.postgres.fields
import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey

TABLES = ("judgement", "ranking", "rankingcomparison")


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_user_has_seen_tour'),
        ('ledger', '0002_mismatch'),
        ('memory', '0003_later_indexes'),
    ]

    operations = [
        migrations.CreateModel(
            name='Ranking',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField(verbose_name='number')),
                ('status', models.CharField(choices=[('learning', 'Learning'), ('draft', 'Draft'), ('shadow', 'Shadow'), ('active', 'Active'), ('retired', 'Retired')], default='learning', max_length=8, verbose_name='status')),
                ('weights', models.JSONField(blank=True, default=dict, verbose_name='weights')),
                ('evaluation', models.JSONField(blank=True, default=dict, verbose_name='evaluation')),
                ('replaced', models.UUIDField(blank=True, editable=False, null=True, verbose_name='replaced ranking')),
                ('created_by', models.CharField(max_length=50, verbose_name='requested by')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('shadowed_at', models.DateTimeField(blank=True, null=True, verbose_name='in shadow since')),
                ('activated_at', models.DateTimeField(blank=True, null=True, verbose_name='active since')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'ranking',
                'verbose_name_plural': 'rankings',
            },
        ),
        migrations.CreateModel(
            name='RankingComparison',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('question', models.TextField(verbose_name='question')),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('app_id', models.CharField(blank=True, max_length=200, verbose_name='app')),
                ('run_id', models.CharField(blank=True, max_length=200, verbose_name='run')),
                ('scope', models.CharField(blank=True, max_length=200, verbose_name='scope')),
                ('origin', models.CharField(choices=[('held_out', 'Held out'), ('learned_on', 'Learned from'), ('shadow', 'Asked by an agent')], max_length=10, verbose_name='origin')),
                ('before', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None, verbose_name='results without it')),
                ('after', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None, verbose_name='results with it')),
                ('relevant', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name='relevant')),
                ('changed', models.PositiveSmallIntegerField(default=0, verbose_name='results replaced')),
                ('created_at', models.DateTimeField(verbose_name='compared')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('ranking', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to='memory.ranking', verbose_name='ranking')),
            ],
            options={
                'verbose_name': 'ranking comparison',
                'verbose_name_plural': 'ranking comparisons',
            },
        ),
        migrations.CreateModel(
            name='Judgement',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('question', models.TextField(verbose_name='question')),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('app_id', models.CharField(blank=True, max_length=200, verbose_name='app')),
                ('run_id', models.CharField(blank=True, max_length=200, verbose_name='run')),
                ('scope', models.CharField(blank=True, max_length=200, verbose_name='scope')),
                ('label', models.CharField(choices=[('relevant', 'Relevant'), ('not_relevant', 'Not relevant'), ('withdrawn', 'Withdrawn')], max_length=12, verbose_name='judgement')),
                ('source', models.CharField(choices=[('person', 'People'), ('import', 'Imports and the API'), ('feedback', 'Ratings of memories'), ('call', 'Outcomes of calls')], max_length=8, verbose_name='source')),
                ('judged_by', models.CharField(max_length=50, verbose_name='judged by')),
                ('created_at', models.DateTimeField(verbose_name='judged')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('entry', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='judgements', to='memory.memoryentry', verbose_name='memory')),
            ],
            options={
                'verbose_name': 'judgement',
                'verbose_name_plural': 'judgements',
                'indexes': [models.Index(fields=['account', '-created_at', '-id'], name='judgements_newest_first'), models.Index(fields=['account', 'entry'], name='judgements_of_entry')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='judgement_in_account'), models.CheckConstraint(condition=models.Q(('label__in', ['relevant', 'not_relevant', 'withdrawn'])), name='judgement_has_known_label')],
            },
        ),
        migrations.AddConstraint(
            model_name='ranking',
            constraint=models.UniqueConstraint(fields=('account', 'id'), name='ranking_in_account'),
        ),
        migrations.AddConstraint(
            model_name='ranking',
            constraint=models.UniqueConstraint(fields=('account', 'number'), name='one_ranking_per_number'),
        ),
        migrations.AddConstraint(
            model_name='ranking',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'learning')), fields=('account',), name='one_learning_ranking'),
        ),
        migrations.AddConstraint(
            model_name='ranking',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'shadow')), fields=('account',), name='one_shadow_ranking'),
        ),
        migrations.AddConstraint(
            model_name='ranking',
            constraint=models.UniqueConstraint(condition=models.Q(('status', 'active')), fields=('account',), name='one_active_ranking'),
        ),
        migrations.AddConstraint(
            model_name='ranking',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('status', 'active'), _negated=True), ('shadowed_at__isnull', False), _connector='OR'), name='active_ranking_was_shadowed'),
        ),
        migrations.AddIndex(
            model_name='rankingcomparison',
            index=models.Index(fields=['account', 'ranking', 'origin', '-changed', '-id'], name='comparisons_most_changed'),
        ),
        migrations.AddIndex(
            model_name='rankingcomparison',
            index=models.Index(fields=['account', 'created_at'], name='comparisons_by_age'),
        ),
        *(EnableRowLevelSecurity(f"memory_{table}") for table in TABLES),
        SameAccountForeignKey("memory_judgement", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_rankingcomparison", "ranking_id", "memory_ranking"),
        SameAccountForeignKey("memory_judgement", "commit_id", "ledger_commit"),
        SameAccountForeignKey("memory_ranking", "commit_id", "ledger_commit"),
    ]
