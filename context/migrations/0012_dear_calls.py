"""Dear calls are found without reading the cheap ones."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("context", "0011_shares_of_variants")]
    operations = [
        AddIndexConcurrently(
            "contextcostreport",
            models.Index(
                fields=["account", "cost"],
                condition=models.Q(cost__isnull=False),
                name="reports_by_cost",
            ),
        ),
    ]
