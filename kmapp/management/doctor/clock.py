"""The clock of this host: compared with the database's, and traces of steps in the database."""

import time
from collections.abc import Iterator
from datetime import timedelta

from django.utils import timezone

from kmapp.database.raw_sql import fetch_all
from kmapp.database.steady_clock import MAX_CLOCK_DRIFT, steady_time
from kmapp.management.doctor.registry import DoctorFinding, check, error, ok, warning
from kmapp.management.doctor.storage import format_age

CLOCK_WARNING, CLOCK_ERROR = 5.0, 60.0  # seconds between two clocks


@check("clock", needs="database")
def check_clock() -> Iterator[DoctorFinding]:
    before = time.time()
    [(there,)] = fetch_all("SELECT extract(epoch FROM clock_timestamp())::float8")
    after = time.time()
    difference = max(before - there, there - after, 0.0)
    if difference < CLOCK_WARNING:
        yield ok(
            f"differs from the database's clock by at most {difference + after - before:.1f} s"
        )
        return
    finding = error if difference >= CLOCK_ERROR else warning
    yield finding(
        f"differs from the database's clock by {difference:.0f} s",
        "Synchronize the clocks (NTP): codes of authenticator apps and sessions depend on them.",
    )


@check("clock steps", needs="migrations")
def check_clock_steps() -> Iterator[DoctorFinding]:
    """Look for steps that a database with the same clock cannot show."""
    [(newest,)] = fetch_all(
        "SELECT max(newest.created_at) FROM ledger_heads() AS head, LATERAL"
        " commits_of_chains(ARRAY[head.account_id], ARRAY[head.seq], 1, 0) AS newest"
    )
    ahead = newest - timezone.now() if newest else timedelta(0)
    behind = timezone.now() - steady_time()
    if ahead > timedelta(seconds=CLOCK_WARNING):
        yield warning(
            f"the newest commit is {format_age(ahead)} in the future: this clock is behind, or"
            " another was ahead",
            "Synchronize the clocks (NTP).",
        )
    if behind > MAX_CLOCK_DRIFT:
        yield warning(
            f"the time for deletions by age is {format_age(behind)} behind: the clock stepped"
            " forward, or no worker runs",
            "Synchronize the clocks (NTP) and start a worker. If the clock is right now, the time"
            " for deletions follows after a day.",
        )
    if ahead <= timedelta(seconds=CLOCK_WARNING) and behind <= MAX_CLOCK_DRIFT:
        yield ok("none")
