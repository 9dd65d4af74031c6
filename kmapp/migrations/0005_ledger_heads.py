"""The heads of all chains in one query."""

from django.db import migrations

from kmapp.accounts.row_level_security import SecurityDefinerFunction


class Migration(migrations.Migration):
    dependencies = [("kmapp", "0004_archived_accounts")]
    operations = [
        SecurityDefinerFunction(
            "ledger_heads()",
            "",
            "TABLE (account_id uuid, seq bigint, commit_hash text)",
            "SELECT a.id, head.seq, head.commit_hash FROM accounts_account a CROSS JOIN LATERAL ("
            "SELECT c.seq, c.commit_hash FROM ledger_commit c WHERE c.account_id = a.id"
            " ORDER BY c.seq DESC LIMIT 1) head",
        ),
    ]
