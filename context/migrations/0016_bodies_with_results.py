"""Parts of calls that hold tool results are found without reading all others."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("context", "0015_results_in_bodies")]
    operations = [
        AddIndexConcurrently(
            "contextbody",
            models.Index(
                fields=["account", "id"],
                condition=models.Q(results__gt=[]),
                name="bodies_with_results",
            ),
        ),
    ]
