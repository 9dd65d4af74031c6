"""Pages of decisions, conflicts and feedback."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.database.ids import parse_uuid
from kmapp.errors import Invalid
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import (
    MAX_REASON_LENGTH,
    WebRequest,
    format_cursor,
    get_row_or_404,
    paginate,
    parse_cursor,
    post_text,
)
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, redirect_with_notice, render_part
from rules.actions.backtests import rebuild_request
from rules.actions.conflicts import MAX_CONFLICTING_DECISIONS, list_recorded_conflicts
from rules.actions.feedback import ReportedOutcome, rate_decision
from rules.editing.rendering import CONFLICT_LABELS, format_json
from rules.models import Rule, RuleDecision, RuleFeedback, RuleObservation
from rules.promotion.evidence import load_feedback
from rules.views.filters import DecisionFilter, FeedbackFilter

PAGE_SIZE = 50
FIRST_SELECTION = '{"context": {"intent": "refund"}, "candidates": ["search_orders", "refund"]}'
MAX_CONFLICTS = 100
# The columns of a row of the list.
LISTED_COLUMNS = (
    *("selected_tool", "fallback", "run_id", "agent_id", "user_id", "candidates"),
    *("differs", "conflicts", "created_at", "account_id"),
)


@page_view("GET")
def decisions(request: WebRequest) -> HttpResponse:
    """List decisions, newest first."""
    account_id = request.account_id
    log = load_decision_list(account_id, request.GET)
    outcomes = load_feedback(account_id, [each.pk for each in log.rows])
    context = {
        "filter": log.filter,
        "older": log.older,
        "rows": [{"decision": each, "feedback": outcomes.get(each.pk, [])} for each in log.rows],
        "narrowed": any(request.GET.get(name) for name in (*log.filter.filters, "before")),
        "rule": _find_rule(request),
        "watcher": _find_rule(request, "watcher"),
        "first_command": format_api_command(request, "rules:api_select", FIRST_SELECTION),
    }
    return render_part(request, "rules/decisions/index.html", "list", context)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionList:
    """A page of the log. `older` is the cursor of the next one, empty on the last."""

    filter: DecisionFilter
    rows: Sequence[RuleDecision]
    older: str


def load_decision_list(account_id: UUID, params: QueryDict) -> DecisionList:
    """Load one page of decisions with one query; rows are not counted."""
    rows = RuleDecision.objects.of(account_id).only(*LISTED_COLUMNS).order_by("-created_at", "-pk")
    narrowed = DecisionFilter(params, queryset=rows)
    matching_rows = narrowed.qs
    if before := parse_cursor(params.get("before", "")):
        moment, pk = before
        matching_rows = matching_rows.filter(created_at__lte=moment).exclude(
            created_at=moment, pk__gte=pk
        )
    page = list(matching_rows[: PAGE_SIZE + 1])
    page_rows = page[:PAGE_SIZE]
    last = page_rows[-1] if len(page) > PAGE_SIZE else None
    older = format_cursor(last.created_at, last.pk) if last else ""
    return DecisionList(filter=narrowed, rows=page_rows, older=older)


def _find_rule(request: WebRequest, param: str = "rule") -> Rule | None:
    """Return the rule that the list is filtered by."""
    selected_id = parse_uuid(request.GET.get(param, ""))
    rows = Rule.objects.of(request.account_id)
    return rows.filter(pk=selected_id).first() if selected_id else None


@page_view("GET")
def decision(request: WebRequest, pk: UUID) -> HttpResponse:
    row = get_row_or_404(request, RuleDecision, pk)
    observations = list(
        RuleObservation.objects.of(row.account_id)
        .filter(Q(matched=True) | Q(changed=True), decision=row)
        .select_related("rule")
        .order_by("-changed", "pk")[:PAGE_SIZE]
    )
    feedback_rows = list(
        RuleFeedback.objects.of(row.account_id).filter(decision=row).order_by("pk")
    )
    rule_ids = [UUID(pk) for one in row.conflicts for pk in (one["winner"], *one["losers"])]
    rules = Rule.objects.of(row.account_id).in_bulk([*row.source_rule_ids, *rule_ids])
    context = {
        "decision": row,
        "context_text": format_json(row.context),
        "policy_text": format_json(row.policy),
        "sources": [rules[key] for key in row.source_rule_ids if key in rules],
        "clashes": [
            {
                "path": one["path"],
                "label": CONFLICT_LABELS.get(one["code"], one["code"]),
                "winner": rules.get(UUID(one["winner"])),
                "losers": [rules[key] for each in one["losers"] if (key := UUID(each)) in rules],
            }
            for one in row.conflicts
        ],
        "observations": [{"seen": each, "after": format_json(each.after)} for each in observations],
        "feedback": feedback_rows,
        "outcomes": RuleFeedback.Outcome.choices,
        "names": list_actor_names([row.created_by, *(each.created_by for each in feedback_rows)]),
    }
    return render(request, "rules/decisions/detail.html", context)


@page_view("POST", needs=Permission.REVIEW)
def rate(request: WebRequest, pk: UUID) -> HttpResponse:
    """Record a person's feedback on the outcome; the same feedback counts only once."""
    row = get_row_or_404(request, RuleDecision, pk)
    outcome = request.POST.get("outcome", "")
    if outcome not in RuleFeedback.Outcome.values:
        raise Invalid(_("Choose one of the outcomes on this page."))
    verdict = ReportedOutcome(
        account_id=row.account_id,
        actor=request.actor,
        outcome=outcome,
        note=post_text(request, "note", MAX_REASON_LENGTH),
        run_id=row.run_id,
        target="all",
    )
    result = rate_decision(verdict, rebuild_request(row), row.selected_tool, row.pk)
    message = _("Feedback saved. It counts for the rules that applied.")
    return redirect_with_notice(
        request,
        message if result.fresh else _("This feedback was already given. It counts only once."),
        "rules:decision",
        pk=pk,
    )


@page_view("GET")
def conflicts(request: WebRequest) -> HttpResponse:
    """List conflicts of active rules, most frequent first."""
    account_id, rule = request.account_id, _find_rule(request)
    recorded = list_recorded_conflicts(account_id, rule.pk if rule else None)
    page_rows = recorded[:MAX_CONFLICTS]
    rules = Rule.objects.of(account_id).in_bulk(
        {key for one in page_rows for key in (one.winner, *one.losers)}
    )
    context = {
        "rows": [
            {
                "conflict": one,
                "label": CONFLICT_LABELS.get(one.code, one.code),
                "winner": rules.get(one.winner),
                "losers": [rules[key] for key in one.losers if key in rules],
            }
            for one in page_rows
        ],
        "total": len(recorded),
        "rule": rule,
        "checked": MAX_CONFLICTING_DECISIONS,
    }
    return render(request, "rules/decisions/conflicts.html", context)


@page_view("GET")
def feedback(request: WebRequest) -> HttpResponse:
    """List feedback on decisions and rules, newest first."""
    account_id = request.account_id
    rows = RuleFeedback.objects.of(account_id).select_related("decision", "commit")
    narrowed = FeedbackFilter(request.GET, queryset=rows.order_by("-created_at", "-pk"))
    page = paginate(request, narrowed.qs)
    rules = Rule.objects.of(account_id).in_bulk({key for each in page for key in each.rule_ids})
    page_rows: list[dict[str, Any]] = [
        {"feedback": each, "rules": [rules[key] for key in each.rule_ids if key in rules]}
        for each in page
    ]
    context = {
        "filter": narrowed,
        "page": page,
        "rows": page_rows,
        "narrowed": narrowed.is_narrowed,
        "rule": _find_rule(request),
        "names": list_actor_names(each.created_by for each in page),
    }
    return render_part(request, "rules/decisions/feedback.html", "list", context)
