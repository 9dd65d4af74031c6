"""A clock that does not follow a jump forward at once, and the mending of a queue after a jump back.

Each host stores the time of the database with its own monotonic clock. `steady_time()` is the time that
these agree on: before something is deleted for good because of its age, it is compared with this time.
"""

from django.db import migrations

from kmapp.accounts.row_level_security import SecurityDefinerFunction

TABLE = """
CREATE TABLE kmapp_clock (
  host uuid PRIMARY KEY, ticks float8 NOT NULL, seen_at timestamptz NOT NULL, steady_at timestamptz NOT NULL,
  doubt interval NOT NULL DEFAULT '0')
"""

# `ticks` are seconds of the monotonic clock of a host since it started. A jump forward is followed when the
# hosts have run for `patience` since, and a step within `tolerance` at once.
ADVANCE = """
DECLARE
  at timestamptz := clock_timestamp();
  before kmapp_clock;
  steady timestamptz;
  elapsed interval;
  went_back boolean;
BEGIN
  INSERT INTO kmapp_clock AS c (host, ticks, seen_at, steady_at)
  VALUES (own_host, now_ticks, at, least(at, coalesce((SELECT max(steady_at) FROM kmapp_clock), at)))
  ON CONFLICT (host) DO NOTHING;
  SELECT * INTO before FROM kmapp_clock WHERE host = own_host FOR UPDATE;
  elapsed := make_interval(secs => greatest(0, now_ticks - before.ticks));
  steady := least(at, before.steady_at + elapsed);
  went_back := at < before.seen_at + elapsed - tolerance;
  IF at - steady <= tolerance OR before.doubt + elapsed >= patience THEN
    UPDATE kmapp_clock SET ticks = greatest(ticks, now_ticks), seen_at = at, steady_at = at, doubt = '0' WHERE host = own_host;
  ELSE
    UPDATE kmapp_clock SET ticks = greatest(ticks, now_ticks), seen_at = at, steady_at = steady, doubt = before.doubt + elapsed
     WHERE host = own_host;
  END IF;
  UPDATE kmapp_clock SET steady_at = at WHERE steady_at > at;
  DELETE FROM kmapp_clock WHERE host <> own_host AND steady_at < at - interval '30 days';
  RETURN went_back;
END
"""

# After the clock went back, times that were set before are too far in the future.
HASTEN = """
WITH changed AS (
  UPDATE outbox_delivery
     SET due_at = least(due_at, now() + least(make_interval(secs => power(2, least(attempts, 20))), longest)),
         lease_until = CASE WHEN lease_until > now() + lease THEN now() + lease ELSE lease_until END
   WHERE done_at IS NULL AND failed_at IS NULL
     AND (due_at > now() OR lease_until > now() + lease)
  RETURNING 1)
SELECT count(*) FROM changed
"""


def advance_clock(body: str) -> SecurityDefinerFunction:
    return SecurityDefinerFunction(
        "advance_clock(uuid, float8, interval, interval)",
        "own_host uuid, now_ticks float8, tolerance interval, patience interval",
        "boolean",
        body,
        language="plpgsql",
    )


class Migration(migrations.Migration):
    dependencies = [("kmapp", "0006_company_sign_in"), ("outbox", "0002_traceparent")]
    operations = [
        migrations.RunSQL(TABLE, "DROP TABLE kmapp_clock"),
        advance_clock(ADVANCE),
        SecurityDefinerFunction(
            "steady_time()",
            "",
            "timestamptz",
            "SELECT least(now(), coalesce((SELECT max(steady_at) FROM kmapp_clock), now()))",
            language="sql STABLE",
        ),
        SecurityDefinerFunction(
            "hasten_deliveries(interval, interval)",
            "lease interval, longest interval",
            "bigint",
            HASTEN,
        ),
    ]
