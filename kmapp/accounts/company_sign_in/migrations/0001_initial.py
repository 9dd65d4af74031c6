"""Company sign-in: the identity provider of an account, and whose identities it knows."""

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
        ('ledger', '0002_mismatch'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='CompanySignIn',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=60, verbose_name='company name')),
                ('issuer', models.CharField(max_length=2000, verbose_name='issuer')),
                ('client_id', models.CharField(max_length=255, verbose_name='client ID')),
                ('client_secret', models.CharField(editable=False, max_length=1000)),
                ('email_domains', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=253), default=list, size=None, verbose_name='e-mail domains')),
                ('groups_claim', models.CharField(default='groups', max_length=200, verbose_name='groups claim')),
                ('role_by_group', models.JSONField(default=dict, verbose_name='roles of groups')),
                ('default_role', models.CharField(blank=True, choices=[('viewer', 'Viewer'), ('reviewer', 'Reviewer'), ('editor', 'Editor'), ('admin', 'Admin')], max_length=10, verbose_name='role without a group')),
                ('creates_logins', models.BooleanField(default=True, verbose_name='creates logins')),
                ('allows_password', models.BooleanField(default=True, verbose_name='also opens with a password')),
                ('checks_second_factor', models.BooleanField(default=False, verbose_name='checks the second factor')),
                ('is_listed', models.BooleanField(default=True, verbose_name='on the sign-in page')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('updated_at', models.DateTimeField(verbose_name='updated')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
            ],
            options={
                'verbose_name': 'company sign-in',
                'verbose_name_plural': 'company sign-ins',
            },
        ),
        migrations.CreateModel(
            name='CompanyIdentity',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('subject', models.CharField(max_length=255, verbose_name='subject')),
                ('by_person', models.BooleanField(default=False, verbose_name='connected by the person')),
                ('created_at', models.DateTimeField(verbose_name='created')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
                ('commit', models.ForeignKey(db_constraint=False, db_index=False, editable=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='ledger.commit', verbose_name='commit')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='person')),
                ('sign_in', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='company.companysignin', verbose_name='company sign-in')),
            ],
            options={
                'verbose_name': 'company identity',
                'verbose_name_plural': 'company identities',
            },
        ),
        migrations.AddConstraint(
            model_name='companysignin',
            constraint=models.UniqueConstraint(fields=('account',), name='one_company_sign_in_per_account'),
        ),
        migrations.AddConstraint(
            model_name='companysignin',
            constraint=models.UniqueConstraint(fields=('account', 'id'), name='company_sign_in_in_account'),
        ),
        migrations.AddConstraint(
            model_name='companyidentity',
            constraint=models.UniqueConstraint(fields=('account', 'sign_in', 'subject'), name='one_login_per_company_identity'),
        ),
        migrations.AddConstraint(
            model_name='companyidentity',
            constraint=models.UniqueConstraint(fields=('account', 'sign_in', 'user'), name='one_company_identity_per_login'),
        ),
        EnableRowLevelSecurity("company_companysignin"),
        SameAccountForeignKey("company_companysignin", "commit_id", "ledger_commit"),
        EnableRowLevelSecurity("company_companyidentity"),
        SameAccountForeignKey("company_companyidentity", "commit_id", "ledger_commit"),
        SameAccountForeignKey("company_companyidentity", "sign_in_id", "company_companysignin"),
    ]
