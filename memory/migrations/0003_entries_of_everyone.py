"""Every search asks for what the whole account may see."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0002_isolate")]
    operations = [
        AddIndexConcurrently(
            model_name="memoryentry",
            index=models.Index(
                fields=["account", "status"],
                condition=models.Q(visibility="account"),
                name="entries_of_everyone",
            ),
        )
    ]
