"""Comparisons stay inside their account, and what came out of them with them."""

from django.db import migrations

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):
    dependencies = [("context", "0009_comparisons"), ("kmapp", "0002_doors")]
    operations = [
        EnableRowLevelSecurity("context_contextcomparison"),
        EnableRowLevelSecurity("context_contextdifference"),
        SameAccountForeignKey("context_contextdifference", "comparison_id", "context_contextcomparison"),
        SameAccountForeignKey("context_contextdifference", "report_id", "context_contextcostreport"),
    ]
