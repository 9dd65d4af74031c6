"""Indexes of the orders of the list of memories, without blocking writers."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0007_existing_reader_groups")]
    operations = [
        AddIndexConcurrently(
            "memoryentry",
            models.Index(fields=["account", "-updated_at", "-id"], name="entries_last_updated"),
        ),
        AddIndexConcurrently(
            "memoryentry",
            models.Index(fields=["account", "-observed_at", "-id"], name="entries_last_observed"),
        ),
        AddIndexConcurrently(
            "memoryentry",
            models.Index(fields=["account", "-importance", "-id"], name="entries_most_important"),
        ),
    ]
