from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0007_countersign_scope")]
    operations = [
        migrations.AddField(
            model_name="account",
            name="verify_on_read",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="verification on read"
            ),
        ),
    ]
