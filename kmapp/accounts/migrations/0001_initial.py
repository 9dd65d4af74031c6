import django.contrib.auth.models
import django.contrib.auth.validators
import django.contrib.postgres.fields
import django.db.models.deletion
import django.utils.timezone
import kmapp.accounts.models
import kmapp.database.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('slug', models.SlugField(unique=True, verbose_name='short name')),
                ('redact', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('email', 'E-mail addresses'), ('phone', 'Phone numbers'), ('card', "Bank card numbers"), ('id', 'Identity numbers'), ('secret', 'Keys and tokens')], max_length=20), blank=True, default=kmapp.accounts.models.all_redaction_kinds, size=None, verbose_name="redacted data types")),
                ('account_wide', models.CharField(choices=[('propose', "Review first"), ('apply', "Apply immediately")], default='propose', help_text="How to handle memories that are visible to the whole account.", max_length=10, verbose_name='account-wide memories')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'account',
                'verbose_name_plural': 'accounts',
            },
        ),
        migrations.CreateModel(
            name='Membership',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('role', models.CharField(choices=[('reviewer', 'Reviewer'), ('admin', 'Admin')], max_length=10, verbose_name='role')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name="member since")),
            ],
            options={
                'verbose_name': 'membership',
                'verbose_name_plural': 'memberships',
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('username', models.CharField(error_messages={'unique': 'A user with that username already exists.'}, help_text='Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.', max_length=150, unique=True, validators=[django.contrib.auth.validators.UnicodeUsernameValidator()], verbose_name='username')),
                ('first_name', models.CharField(blank=True, max_length=150, verbose_name='first name')),
                ('last_name', models.CharField(blank=True, max_length=150, verbose_name='last name')),
                ('is_staff', models.BooleanField(default=False, help_text='Designates whether the user can log into this admin site.', verbose_name='staff status')),
                ('is_active', models.BooleanField(default=True, help_text='Designates whether this user should be treated as active. Unselect this instead of deleting accounts.', verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='date joined')),
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254, unique=True, verbose_name='e-mail')),
                ('language', models.CharField(blank=True, max_length=10, verbose_name='language')),
                ('theme', models.CharField(choices=[('auto', "System"), ('light', 'Light'), ('dark', 'Dark')], default='auto', max_length=5, verbose_name='theme')),
                ('keyboard_shortcuts', models.BooleanField(default=True, verbose_name='keyboard shortcuts')),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
                'abstract': False,
            },
            managers=[
                ('objects', django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.UUIDField(default=kmapp.database.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, verbose_name='name')),
                ('prefix', models.CharField(max_length=16, unique=True, verbose_name='prefix')),
                ('hash', models.CharField(editable=False, max_length=64, verbose_name='hash')),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('memory:read', 'Read memories'), ('memory:write', 'Write memories'), ('memory:erase', "Permanently erase memories"), ('knowledge:read', 'Read knowledge'), ('knowledge:write', 'Write knowledge'), ('rules:read', 'Read rules'), ('rules:write', 'Write rules'), ('context:read', 'Read context reports'), ('context:write', 'Assemble context'), ('debug', "View debug details"), ('admin', "Full access")], max_length=30), size=None, verbose_name='scopes')),
                ('created_by', models.CharField(max_length=50, verbose_name='created by')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked')),
                ('last_used_at', models.DateTimeField(blank=True, null=True, verbose_name='last used')),
                ('account', models.ForeignKey(db_index=False, editable=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.account', verbose_name='account')),
            ],
            options={
                'verbose_name': 'API key',
                'verbose_name_plural': 'API keys',
            },
        ),
    ]
