"""Topics are found without reading the memories that belong to them."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0013_suggestions_about_topics")]
    operations = [
        AddIndexConcurrently(
            model_name="memoryentry",
            index=models.Index(
                condition=models.Q(("kind", "topic")), fields=["account", "status"], name="topics"
            ),
        )
    ]
