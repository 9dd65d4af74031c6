"""A narrow index of vectors, for scans that look up thousands of objects."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("search", "0004_index_existing_documents")]
    operations = [
        AddIndexConcurrently(
            "vector", models.Index(fields=["object_id", "collection"], name="vectors_by_object"),
        ),
    ]
