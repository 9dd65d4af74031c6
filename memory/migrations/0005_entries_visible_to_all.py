"""An index of account-wide memories from which searches list them without reading the rows."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0004_learning")]
    operations = [
        AddIndexConcurrently(
            "memoryentry",
            models.Index(
                condition=models.Q(("visibility", "account")), fields=["account", "status"],
                include=["id", "expires_at", "valid_from", "valid_to"],
                name="entries_visible_to_all",
            ),
        ),
        RemoveIndexConcurrently("memoryentry", "entries_of_everyone"),
    ]
