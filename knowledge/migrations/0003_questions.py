"""Questions that are asked of two variants."""

import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0003_override_scope'),
        ('knowledge', '0002_isolate'),
    ]

    operations = [
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
        EnableRowLevelSecurity("knowledge_knowledgequestion"),
    ]
