"""Responses stored for repeated requests."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import kmapp.database.ids
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity


class Migration(migrations.Migration):
    replaces = [("api", "0001_initial"), ("api", "0002_isolate")]
    initial = True
    dependencies = [("kmapp", "0001_isolation")]
    operations = [
        migrations.CreateModel(
            name='IdempotentRequest',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('key_id', models.UUIDField(verbose_name='API key')),
                ('idempotency_key', models.CharField(max_length=255, verbose_name='idempotency key')),
                ('fingerprint', models.CharField(max_length=64, verbose_name='fingerprint of the request')),
                ('state', models.CharField(choices=[('in_flight', 'Running'), ('done', 'Completed'), ('forgotten', 'Response erased')], default='in_flight', max_length=10, verbose_name='state')),
                ('lease_token', models.UUIDField(verbose_name='lease')),
                ('lease_until', models.DateTimeField(verbose_name='leased until')),
                ('status', models.PositiveSmallIntegerField(null=True, verbose_name='status')),
                ('answer', models.TextField(blank=True, verbose_name='response')),
                ('object_ids', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None, verbose_name='referenced objects')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('expires_at', models.DateTimeField(verbose_name='expires')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'idempotent request',
                'verbose_name_plural': 'idempotent requests',
                'indexes': [models.Index(fields=['account', 'expires_at'], name='answers_by_expiry')],
                'constraints': [models.UniqueConstraint(fields=('account', 'key_id', 'idempotency_key'), name='one_answer_per_request'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'done'), _negated=True), ('status__isnull', False), _connector='OR'), name='done_request_has_an_answer'), models.CheckConstraint(condition=models.Q(models.Q(('state', 'forgotten'), _negated=True), models.Q(('answer', ''), ('fingerprint', '')), _connector='OR'), name='forgotten_request_says_nothing')],
            },
        ),
        EnableRowLevelSecurity("api_idempotentrequest"),
    ]
