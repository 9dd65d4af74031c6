"""Tool results and settings stay inside their account."""

from django.db import migrations

from kmapp.accounts.row_level_security import (Isolate, Reference)


class Migration(migrations.Migration):
    dependencies = [("context", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [
        Isolate("context_toolresultarchive"),
        Isolate("context_contextsettings"),
        Reference("context_toolresultarchive", "commit_id", "ledger_commit"),
        Reference("context_contextsettings", "commit_id", "ledger_commit"),
    ]
