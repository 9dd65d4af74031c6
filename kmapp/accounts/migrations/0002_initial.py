import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('ledger', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='apikey',
            name='commit',
            field=models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit'),
        ),
        migrations.AddField(
            model_name='membership',
            name='account',
            field=models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account'),
        ),
        migrations.AddField(
            model_name='membership',
            name='commit',
            field=models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit'),
        ),
        migrations.AddField(
            model_name='membership',
            name='user',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL, verbose_name='person'),
        ),
        migrations.AddIndex(
            model_name='apikey',
            index=models.Index(fields=['account', '-created_at'], name='keys_newest_first'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.UniqueConstraint(fields=('account', 'user'), name='one_membership_per_person'),
        ),
    ]
