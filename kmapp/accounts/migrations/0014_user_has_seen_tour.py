"""The tour of the home page, for people who are new."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0013_user_has_initial_password")]
    operations = [
        migrations.AddField(
            model_name="user",
            name="has_seen_tour",
            field=models.BooleanField(db_default=False, default=False, editable=False),
        ),
        migrations.RunSQL("UPDATE accounts_user SET has_seen_tour = true", migrations.RunSQL.noop),
    ]
