"""Work that was put off is as old as its event: each try moves the day when it is due."""

from django.db import migrations

from kmapp.accounts.security_definer_functions import security_definer_function

DEPTH = security_definer_function(
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
)


class Migration(migrations.Migration):
    dependencies = [("kmapp", "0003_claim_a_batch"), ("outbox", "0001_initial")]
    operations = [
        migrations.RunSQL(
            DEPTH.definition.replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION", 1),
            migrations.RunSQL.noop,
        )
    ]
