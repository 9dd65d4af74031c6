"""Logins whose password someone else chose."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0012_user_time_zone")]
    operations = [
        migrations.AddField(
            model_name="user",
            name="has_initial_password",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
    ]
