"""Embedding models."""

from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("providers", "0001_initial"), ("providers", "0002_cosines")]
    initial = True
    dependencies = []

    operations = [
        migrations.CreateModel(
            name='EmbeddingModel',
            fields=[
                ('id', models.SmallAutoField(primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200, verbose_name='name')),
                ('dimensions', models.PositiveSmallIntegerField(verbose_name='dimensions')),
                ('sends_input_type', models.BooleanField(default=False, help_text='Turn this on if the server adds query and passage prefixes based on input_type.', verbose_name='send input_type')),
                ('query_prefix', models.CharField(blank=True, max_length=100, verbose_name='query prefix')),
                ('passage_prefix', models.CharField(blank=True, max_length=100, verbose_name='passage prefix')),
                ('passage_template', models.CharField(default='{text}', help_text='Available fields: {date}, {speaker}, {title}, {kind}, {text}; missing fields are omitted.', max_length=200, verbose_name='passage template')),
                ('state', models.CharField(choices=[('building', 'Building'), ('active', 'Active'), ('retired', 'Retired')], default='building', max_length=10, verbose_name='state')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('cosine_high', models.FloatField(default=0.75, verbose_name='cosine of the best matches')),
                ('cosine_low', models.FloatField(default=0.15, help_text='Scores are scaled from this value to the cosine of the best matches.', verbose_name='cosine of unrelated texts')),
            ],
            options={
                'verbose_name': 'embedding model',
                'verbose_name_plural': 'embedding models',
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'active')), fields=('state',), name='one_active_embedding_model'), models.CheckConstraint(condition=models.Q(('cosine_low__lt', models.F('cosine_high'))), name='best_answers_are_nearer_than_unrelated_texts')],
            },
        ),
    ]
