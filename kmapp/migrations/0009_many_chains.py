"""The commits from a number on, and the newest checkpoints, of many accounts in one query."""

from django.db import migrations

from kmapp.accounts.row_level_security import SecurityDefinerFunction

COLUMNS = (
    "id uuid, account_id uuid, format smallint, seq bigint, parent_hash text, commit_hash text,"
    " actor text, created_at timestamptz, input_digest text, diff jsonb"
)


class Migration(migrations.Migration):
    dependencies = [("kmapp", "0008_clock_of_several_hosts")]
    operations = [
        # A larger diff is NULL, so that many accounts together need little memory.
        SecurityDefinerFunction(
            "commits_of_chains(uuid[], bigint[], int, int)",
            "accounts uuid[], numbers bigint[], max_commits int, max_bytes int",
            f"TABLE ({COLUMNS})",
            "SELECT c.id, c.account_id, c.format, c.seq, c.parent_hash, c.commit_hash, c.actor,"
            " c.created_at, c.input_digest, c.diff"
            " FROM unnest(accounts, numbers) AS chain (account_id, seq) CROSS JOIN LATERAL ("
            "SELECT k.id, k.account_id, k.format, k.seq, k.parent_hash, k.commit_hash, k.actor,"
            " k.created_at, k.input_digest,"
            " CASE WHEN pg_column_size(k.diff) <= max_bytes THEN k.diff END AS diff"
            " FROM ledger_commit k WHERE k.account_id = chain.account_id AND k.seq >= chain.seq"
            " ORDER BY k.seq LIMIT max_commits) c"
            " ORDER BY c.account_id, c.seq",
        ),
        SecurityDefinerFunction(
            "newest_checkpoints(uuid[])",
            "accounts uuid[]",
            "TABLE (account_id uuid, seq bigint, commit_hash text)",
            "SELECT chain.account_id, newest.seq, newest.commit_hash"
            " FROM unnest(accounts) AS chain (account_id) CROSS JOIN LATERAL ("
            "SELECT k.seq, k.commit_hash FROM ledger_checkpoint k"
            " WHERE k.account_id = chain.account_id ORDER BY k.seq DESC LIMIT 1) newest",
        ),
    ]
