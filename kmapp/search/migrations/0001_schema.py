"""Postings of terms, and vectors."""

import django.db.models.deletion
import kmapp.database.ids
import pgvector.django.halfvec
from django.db import migrations, models

COVERING = """
ALTER TABLE search_termposting DROP CONSTRAINT search_termposting_pkey,
ADD PRIMARY KEY (account_id, collection, term, document) INCLUDE (tf, dl)
"""


class Migration(migrations.Migration):
    replaces = [("search", "0001_initial"), ("search", "0002_covering")]
    initial = True
    dependencies = [
        ("accounts", "0001_initial"),
        ("providers", "0001_schema"),
    ]

    operations = [
        migrations.CreateModel(
            name='TermPosting',
            fields=[
                ('pk', models.CompositePrimaryKey('account_id', 'collection', 'term', 'document', blank=True, editable=False, primary_key=True, serialize=False)),
                ('collection', models.CharField(max_length=30)),
                ('term', models.CharField(max_length=100)),
                ('document', models.UUIDField()),
                ('tf', models.SmallIntegerField()),
                ('dl', models.IntegerField()),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account')),
            ],
            options={
                'verbose_name': 'posting',
                'verbose_name_plural': 'postings',
            },
        ),
        migrations.CreateModel(
            name='Vector',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('collection', models.CharField(max_length=30, verbose_name='collection')),
                ('object_id', models.UUIDField(verbose_name='object')),
                ('part', models.PositiveSmallIntegerField(default=0, verbose_name='part')),
                ('text_sha256', models.CharField(max_length=64, verbose_name='text digest')),
                ('state', models.CharField(choices=[('PENDING', 'Waiting'), ('READY', 'Ready'), ('FAILED', 'Failed')], default='PENDING', max_length=7, verbose_name='state')),
                ('embedding', pgvector.django.halfvec.HalfVectorField(editable=False, null=True)),
                ('error', models.CharField(blank=True, max_length=200, verbose_name='error')),
                ('ready_at', models.DateTimeField(null=True, verbose_name='ready at')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('model', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='vectors', to='providers.embeddingmodel', verbose_name='model')),
            ],
            options={
                'verbose_name': 'vector',
                'verbose_name_plural': 'vectors',
                'indexes': [models.Index(fields=['account', 'model'], name='vectors_of_account'), models.Index(fields=['account', 'text_sha256', 'model'], name='vectors_by_text'), models.Index(condition=models.Q(('state', 'PENDING')), fields=['account', 'collection'], name='vectors_waiting')],
                'constraints': [models.UniqueConstraint(fields=('account', 'collection', 'object_id', 'part', 'model'), name='one_vector_per_part_and_model'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'READY'), _negated=True), ('embedding__isnull', False), _connector='OR'), name='ready_vector_has_embedding')],
            },
        ),
        # Searches by words read the key of the postings and nothing else.
        migrations.RunSQL(COVERING, migrations.RunSQL.noop),
    ]
