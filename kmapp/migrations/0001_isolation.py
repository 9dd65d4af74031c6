"""Row-level security, references that cannot cross accounts, an append-only ledger, and lookups across accounts."""

from django.db import migrations

from kmapp.accounts.row_level_security import EnableRowLevelSecurity, SameAccountForeignKey
from kmapp.accounts.row_level_security import SecurityDefinerFunction

TABLES = (
    "accounts_membership", "accounts_apikey", "ledger_commit", "ledger_seal", "ledger_note",
    "ledger_checkpoint", "outbox_outboxevent", "outbox_delivery", "search_vector",
    "search_termposting",
)
REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'commits are append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER commits_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_commit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""


class Migration(migrations.Migration):
    replaces = [("kmapp", "0001_isolate"), ("kmapp", "0002_doors")]
    dependencies = [
        ("accounts", "0002_initial"),
        ("ledger", "0001_initial"),
        ("outbox", "0001_schema"),
        ("search", "0001_schema"),
    ]
    operations = [
        EnableRowLevelSecurity("accounts_account", column="id"),
        *(EnableRowLevelSecurity(table) for table in TABLES),
        SameAccountForeignKey("accounts_membership", "commit_id", "ledger_commit"),
        SameAccountForeignKey("accounts_apikey", "commit_id", "ledger_commit"),
        SameAccountForeignKey("ledger_seal", "commit_id", "ledger_commit"),
        SameAccountForeignKey("ledger_note", "commit_id", "ledger_commit"),
        SameAccountForeignKey("outbox_delivery", "event_id", "outbox_outboxevent"),
        migrations.RunSQL(
            REFUSE,
            "DROP TRIGGER commits_are_append_only ON ledger_commit; DROP FUNCTION refuse_change()",
        ),
        # Postings and vectors are written and deleted all day: autovacuum must keep visibility up to date
        # for index-only scans.
        migrations.RunSQL(
            "ALTER TABLE search_termposting SET (autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);"
            "ALTER TABLE search_vector SET (autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)",
            migrations.RunSQL.noop,
        ),
        SecurityDefinerFunction(
            "api_key_by_prefix(text)",
            "wanted text",
            "TABLE (id uuid, account_id uuid, account_slug text, name text, hash text, scopes text[],"
            " expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)",
            "SELECT k.id, k.account_id, a.slug, k.name, k.hash, k.scopes::text[], k.expires_at,"
            " k.revoked_at, k.last_used_at FROM accounts_apikey k"
            " JOIN accounts_account a ON a.id = k.account_id WHERE k.prefix = wanted",
        ),
        SecurityDefinerFunction(
            "accounts_of_user(uuid)",
            "person uuid",
            "TABLE (account_id uuid, name text, slug text, role text)",
            "SELECT a.id, a.name, a.slug, m.role FROM accounts_membership m"
            " JOIN accounts_account a ON a.id = m.account_id WHERE m.user_id = person ORDER BY a.name",
        ),
        SecurityDefinerFunction(
            "account_ids()",
            "",
            "SETOF uuid",
            "SELECT id FROM accounts_account ORDER BY id",
        ),
        SecurityDefinerFunction(
            "release_deliveries(uuid)",
            "task uuid",
            "bigint",
            "WITH freed AS (UPDATE outbox_delivery SET lease_token = NULL, lease_until = NULL,"
            " lease_owner = NULL WHERE lease_owner = task AND done_at IS NULL RETURNING 1)"
            " SELECT count(*) FROM freed",
        ),
    ]
