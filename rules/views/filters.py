"""Filters of lists of rules, decisions and feedback. The URL holds their state."""

from typing import Any

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from kmapp.web.filters import Filters, choice, from_day, text, until_day
from rules.models import Rule, RuleDecision, RuleFeedback, RuleSuggestion
from rules.promotion.evidence import list_observations


class DateFilters(Filters):
    """Filters by day."""

    since = from_day(_("From"), "created_at")
    until = until_day(_("Until"), "created_at")


class RuleFilter(Filters):
    """Filters of rules; the tabs above the list set the state."""

    state = django_filters.ChoiceFilter(choices=Rule.State.choices, widget=forms.HiddenInput)
    q = text(_("Name"), method="filter_text")
    audience = choice(_("Applies to"), Rule.Audience.choices)
    scope = text(_("Scope"))
    suggestion = choice(_("Suggestion"), RuleSuggestion.Kind.choices, method="filter_suggestion")

    def filter_text(self, rows: QuerySet[Rule], name: str, value: str) -> QuerySet[Rule]:
        return rows.filter(Q(name__icontains=value) | Q(summary__icontains=value))

    def filter_suggestion(self, rows: QuerySet[Rule], name: str, value: str) -> QuerySet[Rule]:
        return rows.filter(suggestion__kind=value)


class DecisionFilter(DateFilters):
    """Tool, run and differences have an index; other filters scan rows, newest first."""

    first_fields = frozenset({"selected_tool", "run_id", "kind"})

    selected_tool = text(_("Tool"))
    run_id = text(_("Session"))
    agent_id = text(_("Agent"))
    user_id = text(_("User"))
    rule = django_filters.UUIDFilter(
        label=_("Rule"), method="filter_rule", widget=forms.HiddenInput
    )
    watcher = django_filters.UUIDFilter(
        label=_("Rule"), method="filter_shadow_rule", widget=forms.HiddenInput
    )
    kind = choice(
        _("Involves"),
        [
            ("differs", _("change by a shadow rule")),
            ("conflicts", _("conflict")),
            ("none", _("no tool available")),
            ("fallback", _("fallback")),
            ("rated", _("feedback")),
        ],
        method="filter_kind",
    )

    def filter_rule(self, rows: QuerySet[RuleDecision], name: str, value: Any) -> Any:
        return rows.filter(source_rule_ids__contains=[value])

    def filter_shadow_rule(self, rows: QuerySet[RuleDecision], name: str, value: Any) -> Any:
        """Filter decisions that a rule would have changed in shadow."""
        rule = Rule.objects.filter(pk=value).first()
        if rule is None:
            return rows.none()
        return rows.filter(pk__in=list_observations(rule).filter(changed=True).values("decision"))

    def filter_kind(self, rows: QuerySet[RuleDecision], name: str, value: str) -> Any:
        if value == "differs":
            return rows.filter(differs=True)
        if value == "conflicts":
            return rows.exclude(conflicts=[])
        if value == "none":
            return rows.filter(selected_tool="")
        if value == "fallback":
            return rows.exclude(fallback="")
        rated = RuleFeedback.objects.filter(
            account_id=OuterRef("account_id"), decision_id=OuterRef("pk")
        )
        return rows.filter(Exists(rated))


class FeedbackFilter(DateFilters):
    outcome = choice(_("Outcome"), RuleFeedback.Outcome.choices)
    run_id = text(_("Session"))
    rule = django_filters.UUIDFilter(
        label=_("Rule"), method="filter_rule", widget=forms.HiddenInput
    )

    def filter_rule(self, rows: QuerySet[RuleFeedback], name: str, value: Any) -> Any:
        return rows.filter(rule_ids__contains=[value])
