"""Kinds of events of the kernel: failed jobs, exceeded budgets and broken ledgers."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID

from django.db.models import Count, Func, OuterRef, Subquery, UUIDField, Value
from django.db.models.functions import Cast
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy, ngettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.models import ApiKey
from kmapp.accounts.permissions import Permission
from kmapp.ledger.checkpoints import find_problem
from kmapp.ledger.models import Mismatch
from kmapp.notifications.kinds import Email, EventKind, Severity, Subject, register_kind
from kmapp.notifications.models import Notification
from kmapp.outbox.models import Delivery

CHAIN, ROWS = "chain", "rows"  # what is broken of a ledger
MISMATCH_PERIOD = timedelta(days=7)  # since the row was last withheld from an agent
QUIET = timedelta(days=1)  # without a refusal, after which a budget is no longer exceeded
KEY_PART = 3  # of a subject such as "daily_quota:key:<uuid>"
REFUSALS = {
    "daily_quota": gettext_lazy("An API key reached its daily limit of memories"),
    "too_many_proposals": gettext_lazy("An API key has too many pending proposals"),
    "over_budget": gettext_lazy("Calls were refused because they exceed their token budget"),
}


def load_failed_jobs(account_id: UUID, handlers: Sequence[str]) -> dict[str, Subject]:
    rows = Delivery.objects.of(account_id).dead().filter(handler__in=handlers).order_by()
    counts = rows.values_list("handler").annotate(number=Count("pk"))
    return {handler: Subject(title=handler, count=number) for handler, number in counts}


def load_exceeded_budgets(account_id: UUID, subjects: Sequence[str]) -> dict[str, Subject]:
    rows = Notification.objects.of(account_id).open().filter(kind=BUDGET_EXCEEDED.name)
    recent = rows.filter(subject__in=subjects, last_at__gt=timezone.now() - QUIET)
    key = Func(OuterRef("subject"), Value(":"), Value(KEY_PART), function="split_part")
    keys = ApiKey.objects.of(account_id).filter(pk=Cast(key, UUIDField()))
    named = recent.annotate(key_name=Subquery(keys.values("name")))
    return {
        text: Subject(title=name or "") for text, name in named.values_list("subject", "key_name")
    }


def load_broken_parts(account_id: UUID, parts: Sequence[str]) -> dict[str, Subject]:
    broken = {}
    if CHAIN in parts and find_problem(account_id):
        broken[CHAIN] = Subject(count=1)
    if ROWS in parts:
        seen_since = timezone.now() - MISMATCH_PERIOD
        rows = Mismatch.objects.of(account_id).filter(last_seen_at__gt=seen_since)
        if number := rows.count():
            broken[ROWS] = Subject(count=number)
    return broken


def format_failed_jobs(_handler: str, count: int) -> str:
    text = ngettext("%(n)d background job failed", "%(n)d background jobs failed", count)
    return text % {"n": count}


def format_refusal(subject: str, _count: int) -> str:
    return str(REFUSALS.get(subject.partition(":")[0], BUDGET_EXCEEDED.label))


def format_broken_part(part: str, count: int) -> str:
    if part == CHAIN:
        return gettext("The ledger differs from its signed state; the account may be read-only")
    text = ngettext(
        "%(n)d row differs from the ledger and is withheld from agents",
        "%(n)d rows differ from the ledger and are withheld from agents",
        count,
    )
    return text % {"n": count}


def build_refusal_url(subject: str) -> str:
    is_call = subject.startswith("over_budget")
    return reverse("context:settings" if is_call else "memory:policy")


JOB_FAILED = register_kind(
    EventKind(
        name="job.failed",
        label=_("A background job failed"),
        needs=Permission.OPERATE,
        severity=Severity.WARNING,
        icon="circle-alert",
        text=format_failed_jobs,
        url=lambda _handler: reverse("web:operations"),
        load=load_failed_jobs,
    )
)
BUDGET_EXCEEDED = register_kind(
    EventKind(
        name="budget.exceeded",
        label=_("A budget or quota was exceeded"),
        needs=Permission.SETTINGS,
        severity=Severity.WARNING,
        icon="gauge",
        text=format_refusal,
        url=build_refusal_url,
        load=load_exceeded_budgets,
        email=Email.NOW,
    )
)
LEDGER_BROKEN = register_kind(
    EventKind(
        name="ledger.broken",
        label=_("The ledger is broken"),
        needs=Permission.OPERATE,
        severity=Severity.CRITICAL,
        icon="triangle-alert",
        text=format_broken_part,
        url=lambda _part: reverse("web:ledger"),
        load=load_broken_parts,
        email=Email.NOW,
    )
)
