"""Company sign-in with SAML."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('company', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='companysignin',
            name='certificate',
            field=models.TextField(blank=True, db_default='', default='', verbose_name='signing certificate'),
        ),
        migrations.AddField(
            model_name='companysignin',
            name='sign_in_url',
            field=models.CharField(blank=True, db_default='', default='', max_length=2000, verbose_name='sign-in URL'),
        ),
        migrations.AlterField(
            model_name='companysignin',
            name='client_id',
            field=models.CharField(blank=True, max_length=255, verbose_name='client ID'),
        ),
        migrations.AlterField(
            model_name='companysignin',
            name='client_secret',
            field=models.CharField(blank=True, editable=False, max_length=1000),
        ),
    ]
