"""What was erased before says so too: the ledger is looked through once, here."""

from django.db import migrations

KNOWN = """
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
    dependencies = [("memory", "0018_commits_of_erased"), ("ledger", "0001_initial")]
    operations = [migrations.RunSQL(KNOWN, migrations.RunSQL.noop)]
