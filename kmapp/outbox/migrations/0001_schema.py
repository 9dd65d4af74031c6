"""Events and their deliveries."""

import django.db.models.deletion
import django.db.models.functions.datetime
import kmapp.database.ids
from django.db import migrations, models


class Migration(migrations.Migration):
    replaces = [("outbox", "0001_initial"), ("outbox", "0002_not_done")]
    initial = True
    dependencies = [("accounts", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name='OutboxEvent',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('topic', models.CharField(max_length=100, verbose_name='topic')),
                ('job_key', models.CharField(max_length=200, verbose_name='job key')),
                ('payload', models.JSONField(verbose_name='payload')),
                ('payload_sha256', models.CharField(max_length=64, verbose_name='payload digest')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
                'constraints': [models.UniqueConstraint(fields=('account', 'id'), name='event_in_account'), models.UniqueConstraint(fields=('account', 'topic', 'job_key'), name='one_event_per_job')],
            },
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('handler', models.CharField(max_length=100, verbose_name='handler')),
                ('queue', models.CharField(max_length=20, verbose_name='queue')),
                ('attempts', models.PositiveSmallIntegerField(default=0, verbose_name='attempts')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='due at')),
                ('lease_token', models.UUIDField(null=True, verbose_name='lease')),
                ('lease_owner', models.UUIDField(null=True, verbose_name='leased by task')),
                ('lease_until', models.DateTimeField(null=True, verbose_name='leased until')),
                ('done_at', models.DateTimeField(null=True, verbose_name='done')),
                ('failed_at', models.DateTimeField(null=True, verbose_name='failed at')),
                ('last_error', models.TextField(blank=True, verbose_name='last error')),
                ('reason', models.CharField(blank=True, max_length=50, verbose_name='waiting for')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('event', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='outbox.outboxevent', verbose_name='event')),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries',
                'indexes': [models.Index(condition=models.Q(('done_at', None), ('failed_at', None)), fields=['due_at'], name='deliveries_due'), models.Index(condition=models.Q(('done_at', None), ('failed_at', None)), fields=['account', 'handler', 'due_at'], name='deliveries_due_by_account'), models.Index(condition=models.Q(('failed_at__isnull', False)), fields=['account', '-failed_at'], name='deliveries_dead'), models.Index(condition=models.Q(('done_at', None)), fields=['handler'], name='deliveries_not_done')],
                'constraints': [models.UniqueConstraint(fields=('event', 'handler'), name='one_delivery_per_handler')],
            },
        ),
    ]
