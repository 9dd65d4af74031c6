"""Calls and what they were made of stay inside their account."""

from django.db import migrations

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):
    dependencies = [("context", "0003_reports"), ("kmapp", "0002_doors")]
    operations = [
        EnableRowLevelSecurity("context_contextcostreport"),
        EnableRowLevelSecurity("context_contextbody"),
        EnableRowLevelSecurity("context_contextinput"),
        EnableRowLevelSecurity("context_contextsummary"),
        SameAccountForeignKey("context_contextinput", "report_id", "context_contextcostreport"),
    ]
