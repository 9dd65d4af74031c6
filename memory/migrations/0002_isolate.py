"""Memories stay inside their account, and so do their edges, versions and commits."""

from django.db import migrations

from kmapp.accounts.row_level_security import (Isolate, Reference)


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [
        Isolate("memory_memoryentry"),
        Isolate("memory_memoryversion"),
        Isolate("memory_memoryedge"),
        Isolate("memory_erasedentry"),
        Reference("memory_memoryentry", "commit_id", "ledger_commit"),
        Reference("memory_memoryversion", "commit_id", "ledger_commit"),
        Reference("memory_memoryversion", "entry_id", "memory_memoryentry"),
        Reference("memory_memoryedge", "commit_id", "ledger_commit"),
        Reference("memory_memoryedge", "src_id", "memory_memoryentry"),
        Reference("memory_memoryedge", "dst_id", "memory_memoryentry"),
        Reference("memory_erasedentry", "commit_id", "ledger_commit"),
    ]
