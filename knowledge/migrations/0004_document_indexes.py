"""Indexes of documents that need attention, without blocking writers."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("knowledge", "0003_document_details")]
    operations = [
        AddIndexConcurrently(
            "knowledgedocument",
            models.Index(
                condition=models.Q(("reviewer", ""), _negated=True), fields=["account", "reviewer"],
                name="documents_to_review",
            ),
        ),
        AddIndexConcurrently(
            "knowledgedocument",
            models.Index(
                condition=models.Q(("review_after__isnull", False)), fields=["account", "review_after"],
                name="documents_by_review",
            ),
        ),
    ]
