"""What a key has written lately is counted."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0015_quotas_of_keys")]
    operations = [
        AddIndexConcurrently(
            model_name="memoryentry",
            index=models.Index(
                fields=["account", "created_by", "created_at"], name="entries_by_writer"
            ),
        )
    ]
