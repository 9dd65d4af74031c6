"""What was kept without marks is found until it has some. A worker makes them: it has the secret."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("context", "0016_bodies_with_results")]
    operations = [
        AddIndexConcurrently(
            "contextbody",
            models.Index(
                fields=["account", "id"],
                condition=models.Q(results__isnull=True),
                name="bodies_without_marks",
            ),
        ),
    ]
