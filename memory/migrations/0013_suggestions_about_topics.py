"""What a worker suggests about topics."""

import django.db.models.deletion
import django.db.models.functions.datetime
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_override_scope'),
        ('memory', '0012_entries_by_body'),
    ]

    operations = [
        migrations.CreateModel(
            name='TopicSuggestion',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('merge', 'Merge'), ('split', 'Split')], max_length=5, verbose_name='kind')),
                ('members', models.JSONField(default=list, verbose_name='memories')),
                ('score', models.FloatField(verbose_name='score')),
                ('state', models.CharField(choices=[('open', 'open'), ('followed', "accepted"), ('declined', 'declined')], default='open', max_length=8, verbose_name='state')),
                ('decided_by', models.CharField(blank=True, max_length=50, verbose_name='decided by')),
                ('decided_at', models.DateTimeField(blank=True, null=True, verbose_name='decided')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name="suggested at")),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('other', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.memoryentry', verbose_name='other topic')),
                ('topic', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='memory.memoryentry', verbose_name='topic')),
            ],
            options={
                'verbose_name': "topic suggestion",
                'verbose_name_plural': "topic suggestions",
                'indexes': [models.Index(condition=models.Q(('state', 'open')), fields=['account', '-score'], name='suggestions_open'), models.Index(fields=['account', 'other'], name='suggestions_beside')],
                'constraints': [models.UniqueConstraint(fields=('account', 'kind', 'topic', 'other'), name='one_suggestion_each', nulls_distinct=False), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'split'), ('other__isnull', True)), models.Q(('kind', 'merge'), ('other__isnull', False)), _connector='OR'), name='merge_has_two_topics')],
            },
        ),
        EnableRowLevelSecurity("memory_topicsuggestion"),
        SameAccountForeignKey("memory_topicsuggestion", "topic_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_topicsuggestion", "other_id", "memory_memoryentry"),
    ]
