"""An index of the documents that wait for codes."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("search", "0006_reader_groups")]
    operations = [
        AddIndexConcurrently(
            "indexeddocument",
            models.Index(
                condition=models.Q(("coding", 1)), fields=["account", "collection", "reader_group"],
                include=["document", "number"], name="documents_not_coded",
            ),
        ),
    ]
