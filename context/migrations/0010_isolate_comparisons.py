"""Comparisons stay inside their account, and what came out of them with them."""

from django.db import migrations

from kmapp.accounts.row_level_security import (Isolate, Reference)


class Migration(migrations.Migration):
    dependencies = [("context", "0009_comparisons"), ("kmapp", "0002_doors")]
    operations = [
        Isolate("context_contextcomparison"),
        Isolate("context_contextdifference"),
        Reference("context_contextdifference", "comparison_id", "context_contextcomparison"),
        Reference("context_contextdifference", "report_id", "context_contextcostreport"),
    ]
