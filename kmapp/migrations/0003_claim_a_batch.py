"""Choose what to lease once. As a subquery, some plans chose anew for each row: more than a batch."""

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
  WITH picked AS MATERIALIZED (
     SELECT d.id FROM outbox_delivery d
      WHERE {DUE} AND d.account_id = head.account_id AND d.handler = head.handler
        AND (d.attempts < 2 OR d.attempts = head.attempts)
      ORDER BY d.due_at
      LIMIT CASE WHEN head.attempts < 2 THEN batches[array_position(handlers, head.handler::text)] ELSE 1 END
      FOR UPDATE SKIP LOCKED)
  UPDATE outbox_delivery u
     SET lease_token = token, lease_owner = task, lease_until = statement_timestamp() + lease,
         attempts = u.attempts + 1, reason = ''
    FROM picked WHERE u.id = picked.id
  RETURNING u.id, u.account_id, u.handler::text;
END
"""
CLAIMING = security_definer_function(
    "claim_deliveries(text[], int[], uuid, uuid, interval)",
    "handlers text[], batches int[], token uuid, task uuid, lease interval",
    "TABLE (delivery_id uuid, account_id uuid, handler text)",
    CLAIM,
    language="plpgsql",
)


class Migration(migrations.Migration):
    dependencies = [("kmapp", "0002_doors")]
    operations = [
        migrations.RunSQL(
            CLAIMING.definition.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1),
            migrations.RunSQL.noop,
        )
    ]
