from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0004_strict_scope")]
    operations = [
        migrations.AddField(
            model_name="account",
            name="require_second_factor",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="second factor required"
            ),
        ),
    ]
