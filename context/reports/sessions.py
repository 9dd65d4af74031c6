"""Sessions: memories, calls, tool results and rule decisions that share a run, in order of time.

There is no table of sessions. The list reads the newest rows of each kind, a fixed number for each
page, so that its cost does not depend on the size of the account.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast

from context.models import ContextCostReport, ToolResultArchive
from kmapp.accounts.models import AccountQuerySet
from memory.models import MemoryEntry
from rules.models import RuleDecision

PAGE = 50  # sessions on a page of the list
MAX_OF_USER = 20  # sessions on the page of a user
SCANNED = 2_000  # rows of each kind that a page of the list reads
ITEMS = 100  # items on a page of a session
COST = ContextCostReport._meta.get_field("cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of rows of a session: the column of the run, and the time that orders the rows."""

    name: str
    model: type[Any]
    run: str
    time: str = "created_at"

    def rows(self, account_id: UUID) -> AccountQuerySet[Any]:
        rows: AccountQuerySet[Any] = self.model.objects.of(account_id)
        return rows


KINDS = (
    Kind(name="memory", model=MemoryEntry, run="run_id", time="observed_at"),
    Kind(name="result", model=ToolResultArchive, run="conversation_id"),
    Kind(name="decision", model=RuleDecision, run="run_id"),
    Kind(name="call", model=ContextCostReport, run="conversation_id"),
)


@dataclass(slots=True, kw_only=True)
class SessionSummary:
    """Totals of one run. `counts` has the number of rows by kind; `tokens` and `cost` of calls."""

    run_id: str
    user_id: str = ""
    agent_id: str = ""
    first: datetime | None = None
    last: datetime | None = None
    counts: dict[str, int] = field(default_factory=dict)
    tokens: int = 0
    cost: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    """A page of the list, last activity first. `before` continues it; None on the last page."""

    sessions: Sequence[SessionSummary]
    before: datetime | None


def list_sessions(
    account_id: UUID, *, before: datetime | None = None, prefix: str = ""
) -> SessionPage:
    """Return the sessions with the latest activity, or those whose run begins with `prefix`."""
    newest: dict[str, datetime] = {}
    horizons = []  # times of the oldest rows read, of kinds with more rows
    for kind in KINDS:
        rows = kind.rows(account_id)
        if prefix:
            rows = rows.starting_with(kind.run, prefix)
        elif before:
            rows = rows.filter(created_at__lt=before)
        scanned = list(rows.order_by("-created_at").values_list(kind.run, "created_at")[:SCANNED])
        if len(scanned) == SCANNED:
            horizons.append(scanned[-1][1])
        for run_id, moment in scanned:
            if run_id and (run_id not in newest or moment > newest[run_id]):
                newest[run_id] = moment
    horizon = max(horizons, default=None)
    # Rows of the same time as the horizon may not be read: the next page begins with them.
    following = horizon + datetime.resolution if horizon else None
    if horizon and before and horizon + datetime.resolution >= before:  # too many rows of one time
        horizon, following = horizon - datetime.resolution, horizon
    ranked = sorted(newest, key=lambda run_id: newest[run_id], reverse=True)
    complete = [run_id for run_id in ranked if horizon is None or newest[run_id] > horizon]
    last = newest[complete[:PAGE][-1]] if complete else None
    # Sessions of one batch have equal times: the next page begins below all of them.
    page = [run_id for run_id in complete if newest[run_id] >= last] if last else []
    totals = load_totals(account_id, page)
    # A session with later activity was on an earlier page.
    sessions = [
        totals[run_id] for run_id in page if before is None or _is_before(totals[run_id], before)
    ]
    cursor = last if len(complete) > len(page) else following
    return SessionPage(sessions=sessions, before=None if prefix else cursor)


def list_sessions_of(account_id: UUID, user_id: str) -> list[SessionSummary]:
    """Return the latest sessions of one user."""
    newest: dict[str, datetime] = {}
    for kind in KINDS:
        rows = kind.rows(account_id).filter(user_id=user_id).exclude(**{kind.run: ""})
        latest = rows.order_by().values_list(kind.run).annotate(last=Max("created_at"))
        for run_id, moment in latest.order_by("-last")[:MAX_OF_USER]:
            newest[run_id] = max(moment, newest.get(run_id, moment))
    page = sorted(newest, key=lambda run_id: newest[run_id], reverse=True)[:MAX_OF_USER]
    totals = load_totals(account_id, page, user_id=user_id)
    return [totals[run_id] for run_id in page]


def _is_before(session: SessionSummary, before: datetime) -> bool:
    return session.last is not None and session.last < before


def load_totals(
    account_id: UUID, run_ids: Iterable[str], *, user_id: str = ""
) -> dict[str, SessionSummary]:
    """Return the sessions by run, from one query over all kinds of rows.

    With `user_id`, only rows of this user count: runs of two users may have the same name.
    """
    sessions = {run_id: SessionSummary(run_id=run_id) for run_id in run_ids}
    first, *others = [_count(kind, account_id, list(sessions), user_id) for kind in KINDS]
    for row in first.union(*others, all=True):
        session = sessions[row["run"]]
        session.counts[row["row_kind"]] = row["number"]
        session.first = min(filter(None, (session.first, row["first"])))
        session.last = max(filter(None, (session.last, row["last"])))
        session.user_id = session.user_id or row["user"]
        session.agent_id = session.agent_id or row["agent"]
        session.tokens += row["all_tokens"] or 0
        if row["all_costs"] is not None:
            session.cost = float(row["all_costs"])
    return sessions


def _count(
    kind: Kind, account_id: UUID, run_ids: Sequence[str], user_id: str
) -> "QuerySet[Any, Any]":
    has_costs = kind.model is ContextCostReport
    rows = kind.rows(account_id).filter(**{f"{kind.run}__in": run_ids}).order_by()
    if user_id:
        rows = rows.filter(user_id=user_id)
    counted: QuerySet[Any, Any] = rows.values(run=F(kind.run), row_kind=Value(kind.name)).annotate(
        number=Count("pk"),
        first=Min("created_at"),
        last=Max("created_at"),
        user=Max("user_id"),
        agent=Max("agent_id"),
        all_tokens=Sum("total") if has_costs else Value(0),
        all_costs=Sum("cost") if has_costs else Cast(Value(None), COST),
    )
    return counted


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineItem:
    """One row of a session; `kind` is a name of `KINDS`."""

    kind: str
    at: datetime
    row: Any


Cursor = tuple[datetime, UUID]  # the time and the id of the last item of a page


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A page of the items of a session. `after` continues it; None on the last page."""

    items: Sequence[TimelineItem]
    after: Cursor | None


# Large columns that the page does not show.
DEFERRED = {
    "memory": ("sources",),
    "result": ("result_full", "tool_input"),
    "decision": ("context", "policy"),
    "call": ("tool_tokens", "called_tools"),
}


def load_timeline(account_id: UUID, run_id: str, *, after: Cursor | None = None) -> Timeline:
    """Return a page of the items of a session, oldest first, with one query for each kind."""
    items: list[TimelineItem] = []
    for kind in KINDS:
        rows = kind.rows(account_id).filter(**{kind.run: run_id})
        if after:
            moment, pk = after
            same_time = Q(**{kind.time: moment}, pk__gt=pk)
            rows = rows.filter(Q(**{f"{kind.time}__gt": moment}) | same_time)
        rows = rows.defer(*DEFERRED[kind.name]).order_by(kind.time, "pk")[: ITEMS + 1]
        items += [TimelineItem(kind=kind.name, at=getattr(row, kind.time), row=row) for row in rows]
    items.sort(key=lambda item: (item.at, item.row.pk))
    page = items[:ITEMS]
    more = len(items) > ITEMS
    return Timeline(items=page, after=(page[-1].at, page[-1].row.pk) if more else None)
