"""Row-level security, references that cannot cross accounts, and an append-only ledger."""

from django.db import migrations

from kmapp.accounts.row_level_security import (EnableRowLevelSecurity, SameAccountForeignKey)

REFUSE = """
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'commits are append-only' USING ERRCODE = 'restrict_violation';
END $$;
CREATE TRIGGER commits_are_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_commit
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0002_initial"),
        ("ledger", "0001_initial"),
        ("outbox", "0001_initial"),
        ("search", "0001_initial"),
    ]
    operations = [
        EnableRowLevelSecurity("accounts_account", column="id"),
        EnableRowLevelSecurity("accounts_membership"),
        EnableRowLevelSecurity("accounts_apikey"),
        EnableRowLevelSecurity("ledger_commit"),
        EnableRowLevelSecurity("ledger_seal"),
        EnableRowLevelSecurity("ledger_note"),
        EnableRowLevelSecurity("ledger_checkpoint"),
        EnableRowLevelSecurity("outbox_outboxevent"),
        EnableRowLevelSecurity("outbox_delivery"),
        EnableRowLevelSecurity("search_vector"),
        EnableRowLevelSecurity("search_termposting"),
        SameAccountForeignKey("accounts_membership", "commit_id", "ledger_commit"),
        SameAccountForeignKey("accounts_apikey", "commit_id", "ledger_commit"),
        SameAccountForeignKey("ledger_seal", "commit_id", "ledger_commit"),
        SameAccountForeignKey("ledger_note", "commit_id", "ledger_commit"),
        SameAccountForeignKey("outbox_delivery", "event_id", "outbox_outboxevent"),
        migrations.RunSQL(
            REFUSE,
            "DROP TRIGGER commits_are_append_only ON ledger_commit; DROP FUNCTION refuse_change()",
        ),
        # Postings and vectors are written and deleted all day: visibility must be kept fresh for index-only scans.
        migrations.RunSQL(
            "ALTER TABLE search_termposting SET (autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);"
            "ALTER TABLE search_vector SET (autovacuum_vacuum_scale_factor = 0.02,"
            " autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02)",
            migrations.RunSQL.noop,
        ),
    ]
