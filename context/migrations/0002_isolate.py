"""Tool results and settings stay inside their account."""

from django.db import migrations

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):
    dependencies = [("context", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [
        EnableRowLevelSecurity("context_toolresultarchive"),
        EnableRowLevelSecurity("context_contextsettings"),
        SameAccountForeignKey("context_toolresultarchive", "commit_id", "ledger_commit"),
        SameAccountForeignKey("context_contextsettings", "commit_id", "ledger_commit"),
    ]
