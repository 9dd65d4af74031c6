"""The time zone of a person; without one, that of the browser applies."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0011_roles")]
    operations = [
        migrations.AddField(
            model_name="user",
            name="time_zone",
            field=models.CharField(
                blank=True, db_default="", max_length=64, verbose_name="time zone"
            ),
        ),
    ]
