"""Notifications, and what each person has read and chosen."""


import django.contrib.postgres.fields
import django.db.models.deletion
import kmapp.database.ids
from django.conf import settings
from django.db import migrations, models

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0013_user_has_initial_password'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Notification',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(max_length=50, verbose_name='kind')),
                ('subject', models.CharField(blank=True, max_length=200, verbose_name='subject')),
                ('count', models.PositiveIntegerField(default=1, verbose_name='count')),
                ('first_at', models.DateTimeField(verbose_name='first time')),
                ('last_at', models.DateTimeField(verbose_name='last time')),
                ('closed_at', models.DateTimeField(null=True, verbose_name='resolved')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'notification',
                'verbose_name_plural': 'notifications',
            },
        ),
        migrations.CreateModel(
            name='NotificationRead',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('read_at', models.DateTimeField(verbose_name='read')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('notification', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='reads', to='notifications.notification', verbose_name='notification')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
            ],
            options={
                'verbose_name': 'read notification',
                'verbose_name_plural': 'read notifications',
            },
        ),
        migrations.CreateModel(
            name='NotificationSettings',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('page_off', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=50), default=list, size=None, verbose_name='not on pages')),
                ('email', models.JSONField(default=dict, verbose_name='e-mail by kind')),
                ('sends_email', models.BooleanField(default=True, verbose_name='e-mails')),
                ('digest', models.CharField(choices=[('daily', 'Every day'), ('weekly', 'Every Monday')], default='daily', max_length=6, verbose_name='digest')),
                ('hour', models.PositiveSmallIntegerField(default=8, verbose_name='hour')),
                ('seen_until', models.DateTimeField(null=True, verbose_name='seen until')),
                ('digest_at', models.DateTimeField(null=True, verbose_name='last digest')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('owner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
            ],
            options={
                'verbose_name': 'notification settings',
                'verbose_name_plural': 'notification settings',
            },
        ),
        migrations.AddIndex(
            model_name='notification',
            index=models.Index(fields=['account', '-last_at', '-id'], name='notifications_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='notification',
            constraint=models.UniqueConstraint(fields=('account', 'id'), name='notification_in_account'),
        ),
        migrations.AddConstraint(
            model_name='notification',
            constraint=models.UniqueConstraint(condition=models.Q(('closed_at', None)), fields=('account', 'kind', 'subject'), name='one_open_notification_per_subject'),
        ),
        migrations.AddConstraint(
            model_name='notificationread',
            constraint=models.UniqueConstraint(fields=('account', 'notification', 'owner'), name='one_read_per_person'),
        ),
        migrations.AddConstraint(
            model_name='notificationsettings',
            constraint=models.UniqueConstraint(fields=('account', 'owner'), name='one_notification_settings_per_person'),
        ),
        EnableRowLevelSecurity("notifications_notification"),
        EnableRowLevelSecurity("notifications_notificationread"),
        EnableRowLevelSecurity("notifications_notificationsettings"),
        SameAccountForeignKey(
            "notifications_notificationread", "notification_id", "notifications_notification"
        ),
    ]
