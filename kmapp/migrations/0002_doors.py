"""Everything that must look across accounts. Nothing else may."""

from django.db import migrations

from kmapp.accounts.security_definer_functions import security_definer_function

DUE = """d.done_at IS NULL AND d.failed_at IS NULL AND d.due_at <= statement_timestamp()
     AND (d.lease_until IS NULL OR d.lease_until < statement_timestamp())"""

# One account and one handler at a time. What has crashed its worker twice travels alone, so that it fails alone.
CLAIM = f"""
#variable_conflict use_column
DECLARE head record;
BEGIN
  SELECT d.account_id, d.handler, d.attempts INTO head FROM outbox_delivery d
   WHERE {DUE} AND d.handler = ANY (handlers)
   ORDER BY d.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  RETURN QUERY
  UPDATE outbox_delivery u
     SET lease_token = token, lease_owner = task, lease_until = statement_timestamp() + lease,
         attempts = u.attempts + 1, reason = ''
   WHERE u.id IN (
     SELECT d.id FROM outbox_delivery d
      WHERE {DUE} AND d.account_id = head.account_id AND d.handler = head.handler
        AND (d.attempts < 2 OR d.attempts = head.attempts)
      ORDER BY d.due_at
      LIMIT CASE WHEN head.attempts < 2 THEN batches[array_position(handlers, head.handler::text)] ELSE 1 END
      FOR UPDATE SKIP LOCKED)
  RETURNING u.id, u.account_id, u.handler::text;
END
"""


class Migration(migrations.Migration):
    dependencies = [("kmapp", "0001_isolate")]
    operations = [
        security_definer_function(
            "api_key_by_prefix(text)",
            "wanted text",
            "TABLE (id uuid, account_id uuid, account_slug text, name text, hash text, scopes text[],"
            " expires_at timestamptz, revoked_at timestamptz, last_used_at timestamptz)",
            "SELECT k.id, k.account_id, a.slug, k.name, k.hash, k.scopes::text[], k.expires_at,"
            " k.revoked_at, k.last_used_at FROM accounts_apikey k"
            " JOIN accounts_account a ON a.id = k.account_id WHERE k.prefix = wanted",
        ),
        security_definer_function(
            "accounts_of_user(uuid)",
            "person uuid",
            "TABLE (account_id uuid, name text, slug text, role text)",
            "SELECT a.id, a.name, a.slug, m.role FROM accounts_membership m"
            " JOIN accounts_account a ON a.id = m.account_id WHERE m.user_id = person ORDER BY a.name",
        ),
        security_definer_function(
            "account_ids()",
            "",
            "SETOF uuid",
            "SELECT id FROM accounts_account ORDER BY id",
        ),
        security_definer_function(
            "claim_deliveries(text[], int[], uuid, uuid, interval)",
            "handlers text[], batches int[], token uuid, task uuid, lease interval",
            "TABLE (delivery_id uuid, account_id uuid, handler text)",
            CLAIM,
            language="plpgsql",
        ),
        security_definer_function(
            "release_deliveries(uuid)",
            "task uuid",
            "bigint",
            "WITH freed AS (UPDATE outbox_delivery SET lease_token = NULL, lease_until = NULL,"
            " lease_owner = NULL WHERE lease_owner = task AND done_at IS NULL RETURNING 1)"
            " SELECT count(*) FROM freed",
        ),
        security_definer_function(
            "outbox_depth()",
            "",
            "TABLE (handler text, waiting bigint, running bigint, dead bigint, oldest_seconds float8)",
            "SELECT handler::text,"
            " count(*) FILTER (WHERE failed_at IS NULL AND lease_token IS NULL),"
            " count(*) FILTER (WHERE failed_at IS NULL AND lease_token IS NOT NULL),"
            " count(*) FILTER (WHERE failed_at IS NOT NULL),"
            " coalesce(extract(epoch FROM statement_timestamp() - min(due_at) FILTER (WHERE failed_at IS NULL)), 0)"
            " FROM outbox_delivery WHERE done_at IS NULL GROUP BY handler",
        ),
    ]
