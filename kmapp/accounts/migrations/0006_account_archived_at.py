"""Accounts can be archived."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_require_second_factor")]
    operations = [
        migrations.AddField(
            model_name="account",
            name="archived_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="archived"),
        ),
    ]
