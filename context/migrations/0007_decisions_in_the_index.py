"""What was decided stands in the index by which calls are listed."""

from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("context", "0006_told_tools")]
    operations = [
        AddIndexConcurrently(
            "contextcostreport",
            models.Index(
                fields=["account", "-created_at", "-id"],
                include=("actions",),
                name="reports_and_decisions",
            ),
        ),
        RemoveIndexConcurrently("contextcostreport", "reports_newest_first"),
    ]
