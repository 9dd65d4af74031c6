"""What was handed over to be read by a model."""

import django.contrib.postgres.fields
import django.db.models.deletion
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0002_initial'),
        ('memory', '0005_ratings'),
    ]

    operations = [
        migrations.CreateModel(
            name='Extraction',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('conversation', 'conversation'), ('task', 'completed task'), ('procedure', "run record"), ('rewrite', 'instruction')], max_length=12, verbose_name='kind')),
                ('actor', models.CharField(max_length=50, verbose_name="requested by")),
                ('scope', models.CharField(blank=True, max_length=200, verbose_name='scope')),
                ('user_id', models.CharField(blank=True, max_length=200, verbose_name='user')),
                ('agent_id', models.CharField(blank=True, max_length=200, verbose_name='agent')),
                ('app_id', models.CharField(blank=True, max_length=200, verbose_name='app')),
                ('run_id', models.CharField(blank=True, max_length=200, verbose_name='run')),
                ('metadata', models.JSONField(blank=True, default=dict, verbose_name='metadata')),
                ('said', models.JSONField(blank=True, default=dict, verbose_name="original text")),
                ('memories', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), blank=True, default=list, size=None, verbose_name='memories')),
                ('observed_at', models.DateTimeField(verbose_name='observed')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('result', models.JSONField(blank=True, null=True, verbose_name='result')),
                ('problem', models.CharField(blank=True, max_length=500, verbose_name='problem')),
                ('answer', models.TextField(blank=True, verbose_name="unusable model response")),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'extraction',
                'verbose_name_plural': 'extractions',
                'indexes': [models.Index(fields=['account', '-created_at', '-id'], name='extractions_newest_first'), models.Index(condition=models.Q(('finished_at', None)), fields=['account'], name='extractions_waiting')],
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='extraction_in_account')],
            },
        ),
        EnableRowLevelSecurity("memory_extraction"),
    ]
