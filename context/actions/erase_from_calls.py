"""Erasure of objects and tool results from call inputs, summaries and reports."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import connection
from django.utils import timezone

from context.actions.backfill_lookup_keys import backfill_lookup_keys
from context.assembly.snippet_locks import SOURCE_MODELS
from context.models import (
    ContextBody,
    ContextCitation,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ToolResultArchive,
)
from kmapp.accounts.erasure_registry import register_erase_handler
from kmapp.database.erasure_locks import lock_for_erasure
from kmapp.database.ids import get_uuid7_time
from kmapp.database.raw_sql import fetch_all
from kmapp.database.server_response_timeout import extend_statement_timeout
from kmapp.search.id_array_lookup import IdArray

FULL_SCAN = 60  # seconds for a scan of all parts of the account
# Bodies that only these inputs and summaries refer to.
UNSHARED_BODIES = """
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
# `= ANY` hashes the ids. The operator `&&` would compare each id with each ref of each call.
FIND_RETRIEVED = """
SELECT report_id FROM context_contextinput
 WHERE account_id = %s AND created_at >= %s
   AND EXISTS (SELECT FROM unnest(refs) AS ref WHERE ref = ANY (%s))
"""
# Replaces the parts by a missing one, so that the call is not replayed as if it were complete, and
# removes a summary, which may quote the parts.
REMOVE_PARTS = """
UPDATE context_contextinput SET rest = rest - 'compacted',
  messages = ARRAY(SELECT m FROM unnest(messages) m WHERE m <> ALL (%s)) || %s
 WHERE account_id = %s AND report_id = ANY (%s)
"""
# Leaves only the ids of erased objects in the reports of calls: no title, path, heading or match.
REMOVE_CITED = """
UPDATE context_contextcostreport SET report = report || jsonb_build_object(
  'citations', (
    SELECT coalesce(jsonb_agg(CASE WHEN c ->> 'ref' = ANY (%(refs)s) THEN
        (c - ARRAY['uri', 'observed_at']) || jsonb_build_object('title', NULL, 'locator',
          jsonb_strip_nulls(jsonb_build_object('chunk_id', c #> '{locator,chunk_id}')))
        ELSE c END ORDER BY n), '[]')
      FROM jsonb_array_elements(report -> 'citations') WITH ORDINALITY AS cited (c, n)),
  'items', (
    SELECT coalesce(jsonb_agg(CASE WHEN i ->> 'ref' = ANY (%(refs)s) THEN
        i || '{"why": {}}' ELSE i END ORDER BY n), '[]')
      FROM jsonb_array_elements(report -> 'items') WITH ORDINALITY AS listed (i, n)))
 WHERE account_id = %(account)s AND id = ANY (%(reports)s)
"""
MISSING_BODY = UUID(int=0)
UUID_SHAPE = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
MAX_CLOCK_ERROR = timedelta(days=2)  # between the hosts that created an object and used it
BEFORE_ALL_CALLS = datetime(1970, 1, 1, tzinfo=UTC)


@register_erase_handler
def delete_inputs(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Delete the inputs with erased objects, their texts and titles in reports. Inside `acting`.

    Waits for calls with these objects that are being recorded.
    """
    lock_for_erasure(account_id, dict.fromkeys(SOURCE_MODELS.values(), ids))
    _remove_citations(account_id, ids)
    report_ids = _find_calls(account_id, ids)
    if not report_ids:
        return
    rows = ContextInput.objects.of(account_id).filter(report__any_of=IdArray(report_ids))
    erased = {str(pk) for pk in ids}
    body_ids = {
        snippet["text"]
        for rest in rows.values_list("rest", flat=True)
        for snippet in rest["snippets"]
        if erased.intersection((snippet["ref"], snippet["citation"].get("ref")))
    }
    delete_unshared_bodies(account_id, report_ids)
    rows.delete()
    ContextBody.objects.of(account_id).filter(pk__in=body_ids).delete()


def _find_calls(account_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
    """Return the calls whose inputs have content of these objects, also of their older versions."""
    if not ids:
        return []
    extend_statement_timeout(connection, FULL_SCAN)
    refs = [str(pk) for pk in ids]
    retrieved = fetch_all(FIND_RETRIEVED, [account_id, _find_first_use(ids), refs])
    # Inputs of older releases do not name documents, but their calls cite them, by an index.
    citations = ContextCitation.objects.of(account_id).filter(ref__any_of=IdArray(ids))
    inputs = ContextInput.objects.of(account_id).filter(report__in=citations.values("report_id"))
    cited = inputs.values_list("report_id", flat=True)
    return sorted({*(pk for (pk,) in retrieved), *cited})


def _find_first_use(ids: Sequence[UUID]) -> datetime:
    """Return a time before which no call can have used these objects."""
    times = [moment for pk in ids if (moment := get_uuid7_time(pk))]
    if len(times) < len(ids) or min(times) > timezone.now():  # unknown, or a clock was wrong
        return BEFORE_ALL_CALLS
    return min(times) - MAX_CLOCK_ERROR


def _remove_citations(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Remove what the reports of calls state about these objects, except their ids."""
    citations = ContextCitation.objects.of(account_id).filter(ref__any_of=IdArray(ids))
    cited_in = list(citations.values_list("report_id", flat=True).distinct())
    if not cited_in:
        return
    reports = ContextCostReport.objects.of(account_id).filter(pk__any_of=IdArray(cited_in))
    list(reports.order_by("pk").select_for_update(no_key=True).values_list("pk"))
    refs = [str(pk) for pk in ids]
    extend_statement_timeout(connection, FULL_SCAN)
    with connection.cursor() as cursor:
        cursor.execute(REMOVE_CITED, {"account": account_id, "reports": cited_in, "refs": refs})


def delete_parts_with_results(
    account_id: UUID, archives: Sequence[ToolResultArchive]
) -> list[UUID]:
    """Delete the parts of calls with these tool results, and summaries of such parts.

    Return the ids of those calls and summaries. Parts in another person's call stay there. A call
    still refers to its other parts, which are found when one of them is erased. Inside `acting`.
    Waits for calls with these summaries that are being recorded.
    """
    owners_by_body = _find_holders(account_id, archives) if archives else {}
    if not owners_by_body:
        return []
    derived = ContextSummary.objects.of(account_id).filter(bodies__overlap=list(owners_by_body))
    lock_for_erasure(account_id, {ContextSummary: list(derived.values_list("pk", flat=True))})
    inputs = ContextInput.objects.of(account_id).filter(messages__overlap=list(owners_by_body))
    calls = list(inputs.values_list("report_id", "report__user_id", "messages"))
    summaries = list(derived.values_list("pk", "user_id", "bodies"))
    holders, shared = list[UUID](), set[UUID]()
    for holder, user, parts in (*calls, *summaries):
        body_ids = owners_by_body.keys() & set(parts)
        if not user or any({"", user} & owners_by_body[pk] for pk in body_ids):
            holders.append(holder)
        else:
            shared |= body_ids
    derived.filter(pk__in=holders).delete()
    with connection.cursor() as cursor:
        cursor.execute(REMOVE_PARTS, [list(owners_by_body), MISSING_BODY, account_id, holders])
    ContextBody.objects.of(account_id).filter(pk__in=owners_by_body.keys() - shared).delete()
    return holders


def _find_holders(account_id: UUID, archives: Sequence[ToolResultArchive]) -> dict[UUID, set[str]]:
    """Return the bodies with one of these results, each with the owners of its results."""
    owners = defaultdict[str, set[str]](set)
    for archive in archives:
        for key in archive.lookup_keys():
            owners[key].add(archive.user_id)
    extend_statement_timeout(connection, FULL_SCAN)
    backfill_lookup_keys(account_id)
    # Uses the partial index of bodies with results.
    bodies = ContextBody.objects.of(account_id).filter(results__gt=[])
    rows = bodies.filter(results__overlap=list(owners))
    return {
        pk: set().union(*(owners[key] for key in keys or () if key in owners))
        for pk, keys in rows.values_list("pk", "results")
    }


def delete_unshared_bodies(account_id: UUID, holders: Sequence[UUID]) -> None:
    """Delete the parts that no other call or summary uses. Inside `acting`."""
    if not holders:
        return
    extend_statement_timeout(connection, FULL_SCAN)
    values = {"account": account_id, "holders": list(holders), "uuid": UUID_SHAPE}
    bodies = [pk for (pk,) in fetch_all(UNSHARED_BODIES, values)]
    ContextBody.objects.of(account_id).filter(pk__in=bodies).delete()
