"""Calls and what they were made of stay inside their account."""

from django.db import migrations

from kmapp.accounts.row_level_security import (Isolate, Reference)


class Migration(migrations.Migration):
    dependencies = [("context", "0003_reports"), ("kmapp", "0002_doors")]
    operations = [
        Isolate("context_contextcostreport"),
        Isolate("context_contextbody"),
        Isolate("context_contextinput"),
        Isolate("context_contextsummary"),
        Reference("context_contextinput", "report_id", "context_contextcostreport"),
    ]
