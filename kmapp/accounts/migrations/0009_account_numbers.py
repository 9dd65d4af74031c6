import django.contrib.postgres.fields
import kmapp.accounts.models
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0008_verify_on_read'),
    ]

    operations = [
        migrations.AlterField(
            model_name='account',
            name='redact',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('email', 'E-mail addresses'), ('phone', 'Phone numbers'), ('card', 'Bank card and account numbers'), ('id', 'Identity numbers'), ('secret', 'Keys and tokens')], max_length=20), blank=True, default=kmapp.accounts.models.all_redaction_kinds, size=None, verbose_name='redacted data types'),
        ),
    ]
