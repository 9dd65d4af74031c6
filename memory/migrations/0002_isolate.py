"""Memories stay inside their account, and so do their edges, versions and commits."""

from django.db import migrations

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)


class Migration(migrations.Migration):
    dependencies = [("memory", "0001_initial"), ("kmapp", "0002_doors")]
    operations = [
        EnableRowLevelSecurity("memory_memoryentry"),
        EnableRowLevelSecurity("memory_memoryversion"),
        EnableRowLevelSecurity("memory_memoryedge"),
        EnableRowLevelSecurity("memory_erasedentry"),
        SameAccountForeignKey("memory_memoryentry", "commit_id", "ledger_commit"),
        SameAccountForeignKey("memory_memoryversion", "commit_id", "ledger_commit"),
        SameAccountForeignKey("memory_memoryversion", "entry_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_memoryedge", "commit_id", "ledger_commit"),
        SameAccountForeignKey("memory_memoryedge", "src_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_memoryedge", "dst_id", "memory_memoryentry"),
        SameAccountForeignKey("memory_erasedentry", "commit_id", "ledger_commit"),
    ]
