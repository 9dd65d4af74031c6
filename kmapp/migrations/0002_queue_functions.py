"""Functions that look at the queue across accounts: leasing a batch, and the depth of the queue."""

from django.db import migrations

from kmapp.accounts.row_level_security import SecurityDefinerFunction

DUE = """d.done_at IS NULL AND d.failed_at IS NULL AND d.due_at <= statement_timestamp()
     AND (d.lease_until IS NULL OR d.lease_until < statement_timestamp())"""

# One account and one handler at a time. A delivery that crashed its worker twice is leased alone, so that it fails alone.
# The batch is selected once: as a subquery, some plans selected again for each row, which leased more than a batch.
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


class Migration(migrations.Migration):
    replaces = [("kmapp", "0003_claim_a_batch"), ("kmapp", "0004_age_of_what_waits")]
    dependencies = [("kmapp", "0001_isolation")]
    operations = [
        SecurityDefinerFunction(
            "claim_deliveries(text[], int[], uuid, uuid, interval)",
            "handlers text[], batches int[], token uuid, task uuid, lease interval",
            "TABLE (delivery_id uuid, account_id uuid, handler text)",
            CLAIM,
            language="plpgsql",
        ),
        # A delivery that was postponed is as old as its event: each attempt moves `due_at`.
        SecurityDefinerFunction(
            "outbox_depth()",
            "",
            "TABLE (handler text, waiting bigint, running bigint, dead bigint, oldest_seconds float8)",
            "SELECT d.handler::text,"
            " count(*) FILTER (WHERE d.failed_at IS NULL AND d.lease_token IS NULL),"
            " count(*) FILTER (WHERE d.failed_at IS NULL AND d.lease_token IS NOT NULL),"
            " count(*) FILTER (WHERE d.failed_at IS NOT NULL),"
            " coalesce(extract(epoch FROM statement_timestamp() - min("
            "   CASE WHEN d.reason <> '' OR d.last_error <> '' THEN e.created_at ELSE d.due_at END"
            " ) FILTER (WHERE d.failed_at IS NULL)), 0)"
            " FROM outbox_delivery d"
            " JOIN outbox_outboxevent e ON e.account_id = d.account_id AND e.id = d.event_id"
            " WHERE d.done_at IS NULL GROUP BY d.handler",
        ),
    ]
