"""Letting go of what calls were made of: after some days, or when a part of it is erased."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import date, timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from context.actions.backfill_markers import mark_all
from context.models import (
    ContextBody,
    ContextComparison,
    ContextInput,
    ContextSettings,
    ContextSummary,
    ToolResultArchive,
)
from context.models.settings import INPUTS_DAYS
from kmapp.accounts.acting import acting
from kmapp.accounts.personal_data import on_erase

BATCH = 1_000
# What these inputs and summaries are made of, and no other is.
BODIES = """
WITH used AS (
  SELECT report_id AS holder, unnest(messages || tools) AS body FROM context_contextinput
   WHERE account_id = %(account)s
  UNION ALL
  SELECT i.report_id, (v #>> '{}')::uuid FROM context_contextinput i,
    jsonb_path_query(i.rest, '$.**') v
   WHERE i.account_id = %(account)s AND jsonb_typeof(v) = 'string' AND v #>> '{}' ~ %(uuid)s
  UNION ALL
  SELECT id, unnest(bodies) FROM context_contextsummary WHERE account_id = %(account)s)
SELECT body FROM used GROUP BY body HAVING bool_and(holder = ANY (%(holders)s))
"""
# Instead of these parts one that there is not: nobody makes the call again as if it were whole.
# A summary that stood in it may quote them.
EMPTY = """
UPDATE context_contextinput SET rest = rest - 'compacted',
  messages = ARRAY(SELECT m FROM unnest(messages) m WHERE m <> ALL (%s)) || %s
 WHERE account_id = %s AND report_id = ANY (%s)
"""
NOBODYS = UUID(int=0)
UUID_SHAPE = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
ONE_DAY = timedelta(days=1)


def days_of(settings: ContextSettings) -> int:
    return settings.inputs_days or INPUTS_DAYS


def remove_old_inputs(account_id: UUID) -> int:
    """Drop inputs, summaries, parts and comparisons of calls that are older than they are kept.

    A part's day of use is no earlier than any input that refers to it, so what has not been used
    for that long, and a day more, nobody refers to. Opens `acting` itself. How many inputs went.
    """
    with acting(account_id):
        days = days_of(ContextSettings.objects.here(account_id))
        until = timezone.now() - timedelta(days=days)
        ContextComparison.objects.of(account_id).filter(created_at__lt=until).delete()
    removed = 0
    while some := _remove(account_id, ContextInput._meta.db_table, "created_at", until):
        removed += some
    while _remove(account_id, ContextSummary._meta.db_table, "created_at", until):
        pass
    while _remove(account_id, ContextBody._meta.db_table, "used_on", (until - ONE_DAY).date()):
        pass
    return removed


def _remove(account_id: UUID, table: str, column: str, until: date) -> int:
    with acting(account_id), connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM {table} WHERE account_id = %s AND id IN (SELECT id FROM {table} "  # noqa: S608 - ours
            f"WHERE account_id = %s AND {column} < %s ORDER BY {column} LIMIT %s) "
            f"AND {column} < %s",
            [account_id, account_id, until, BATCH, until],
        )
        return int(cursor.rowcount)


@on_erase
def forget_inputs(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Drop the inputs that hold something erased, with its text. Inside `acting`."""
    refs = [str(pk) for pk in ids]
    rows = ContextInput.objects.of(account_id).filter(refs__overlap=refs)
    texts = {
        each["text"]
        for rest in rows.values_list("rest", flat=True)
        for each in rest["snippets"]
        if each["ref"] in refs
    }
    forget_bodies(account_id, list(rows.values_list("report_id", flat=True)))
    rows.delete()
    ContextBody.objects.of(account_id).filter(pk__in=texts).delete()


def forget_results(account_id: UUID, archives: Sequence[ToolResultArchive]) -> list[UUID]:
    """Drop the parts of calls that hold these tool results, and the summaries of such parts.

    Returns those calls and summaries. What another person's call holds, too, stays with that. A
    call still names its other parts: they are found when one of them is erased. Inside `acting`.
    """
    found = _holding(account_id, archives) if archives else {}
    if not found:
        return []
    inputs = ContextInput.objects.of(account_id).filter(messages__overlap=list(found))
    texts = ContextSummary.objects.of(account_id).filter(bodies__overlap=list(found))
    calls = list(inputs.values_list("report_id", "report__user_id", "messages"))
    summaries = list(texts.values_list("pk", "user_id", "bodies"))
    theirs, staying = list[UUID](), set[UUID]()
    for holder, user, parts in (*calls, *summaries):
        held = found.keys() & set(parts)
        if not user or any({"", user} & found[pk] for pk in held):
            theirs.append(holder)
        else:
            staying |= held
    texts.filter(pk__in=theirs).delete()
    with connection.cursor() as cursor:
        cursor.execute(EMPTY, [list(found), NOBODYS, account_id, theirs])
    ContextBody.objects.of(account_id).filter(pk__in=found.keys() - staying).delete()
    return theirs


def _holding(account_id: UUID, archives: Sequence[ToolResultArchive]) -> dict[UUID, set[str]]:
    """The parts of calls that hold one of these, each with the people whose results it holds."""
    whose = defaultdict[str, set[str]](set)
    for archive in archives:
        for mark in archive.marks():
            whose[mark].add(archive.user_id)
    _look_at_all()
    mark_all(account_id)
    # By an index of those that hold any: see the model.
    holding = ContextBody.objects.of(account_id).filter(results__gt=[])
    rows = holding.filter(results__overlap=list(whose))
    return {
        pk: set().union(*(whose[mark] for mark in marks or () if mark in whose))
        for pk, marks in rows.values_list("pk", "results")
    }


def forget_bodies(account_id: UUID, holders: Sequence[UUID]) -> None:
    """Drop the parts of these calls and summaries that no other one has. Inside `acting`."""
    if not holders:
        return
    _look_at_all()
    with connection.cursor() as cursor:
        cursor.execute(
            BODIES, {"account": account_id, "holders": list(holders), "uuid": UUID_SHAPE}
        )
        bodies = [row[0] for row in cursor.fetchall()]
    ContextBody.objects.of(account_id).filter(pk__in=bodies).delete()


def _look_at_all() -> None:
    """What follows looks at all that is kept of the account's calls, once."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '60s'")
