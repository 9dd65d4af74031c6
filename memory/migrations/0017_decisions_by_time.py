"""Decisions are found by their time. Models know the index since 0007."""

from django.db import migrations

DROP = "DROP INDEX CONCURRENTLY IF EXISTS decisions_by_time"
BUILD = """
CREATE INDEX CONCURRENTLY decisions_by_time ON memory_memoryversion (account_id, created_at)
WHERE event IN ('APPROVE', 'REJECT', 'MERGE')
"""


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("memory", "0016_entries_by_writer")]
    operations = [migrations.RunSQL([DROP, BUILD], DROP)]
