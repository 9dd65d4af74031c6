"""Indexes of long tables, and the commits that named what is erased: without blocking writers."""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models

KNOWN_COMMITS = """
UPDATE memory_erasedentry e SET commits = found.commits
  FROM (
    SELECT t.account_id, t.id, (array_agg(c.id ORDER BY c.id))[:20] AS commits
      FROM ledger_commit c
     CROSS JOIN jsonb_array_elements(c.diff) change
      JOIN memory_erasedentry t
        ON t.account_id = c.account_id AND 'memory.memoryentry:' || t.id = change ->> 'object'
     WHERE change ->> 'op' <> 'ERASE'
     GROUP BY 1, 2) found
 WHERE e.account_id = found.account_id AND e.id = found.id
"""


class Migration(migrations.Migration):
    atomic = False
    replaces = [
        ("memory", "0012_entries_by_body"), ("memory", "0014_topics_by_status"),
        ("memory", "0016_entries_by_writer"), ("memory", "0017_decisions_by_time"),
        ("memory", "0019_known_commits_of_erased"),
    ]
    dependencies = [("memory", "0002_later_tables")]
    operations = [
        AddIndexConcurrently(
            "memoryentry",
            models.Index(fields=["account", "written_sha256"], name="entries_by_body"),
        ),
        AddIndexConcurrently(
            "memoryentry",
            models.Index(condition=models.Q(kind="topic"), fields=["account", "status"], name="topics"),
        ),
        AddIndexConcurrently(
            "memoryentry",
            models.Index(fields=["account", "created_by", "created_at"], name="entries_by_writer"),
        ),
        AddIndexConcurrently(
            "memoryversion",
            models.Index(
                condition=models.Q(event__in=["APPROVE", "REJECT", "MERGE"]),
                fields=["account", "created_at"],
                name="decisions_by_time",
            ),
        ),
        migrations.RunSQL(KNOWN_COMMITS, migrations.RunSQL.noop),
    ]
