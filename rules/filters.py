"""What lists of rules, decisions and feedback can be narrowed to. A list's state is its address."""

from datetime import date, datetime, time, timedelta
from typing import Any

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from rules.evidence import observations_of
from rules.models import Rule, RuleDecision, RuleFeedback, RuleSuggestion


class _Select(forms.Select):
    def __init__(self, **more: Any) -> None:
        super().__init__(attrs={"class": "form-select"}, **more)


class _Text(forms.TextInput):
    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-control", "autocomplete": "off"})


class _Day(forms.DateInput):
    input_type = "date"

    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-control"}, format="%Y-%m-%d")


def _text(label: Any, **more: Any) -> django_filters.CharFilter:
    return django_filters.CharFilter(label=label, widget=_Text, **more)


def _choice(label: Any, choices: Any, **more: Any) -> django_filters.ChoiceFilter:
    return django_filters.ChoiceFilter(
        label=label, choices=choices, empty_label=_("any"), widget=_Select, **more
    )


def _day(label: Any, method: str) -> django_filters.DateFilter:
    return django_filters.DateFilter(label=label, method=method, widget=_Day)


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))


class Dated(django_filters.FilterSet):  # type: ignore[misc]  # it has no types
    """Of some days; the last day itself is part of it."""

    since = _day(_("From"), "made_since")
    until = _day(_("Until"), "made_until")

    def made_since(self, rows: QuerySet[Any], name: str, value: date) -> QuerySet[Any]:
        return rows.filter(created_at__gte=_midnight(value))

    def made_until(self, rows: QuerySet[Any], name: str, value: date) -> QuerySet[Any]:
        if value == date.max:
            return rows
        return rows.filter(created_at__lt=_midnight(value + timedelta(days=1)))


class RuleFilter(django_filters.FilterSet):  # type: ignore[misc]
    """By state stands above the list; these narrow further."""

    state = django_filters.ChoiceFilter(choices=Rule.State.choices, widget=forms.HiddenInput)
    q = _text(_("Name"), method="named")
    audience = _choice(_("For"), Rule.Audience.choices)
    scope = _text(_("Scope"))
    suggestion = _choice(_("Suggestion"), RuleSuggestion.Kind.choices, method="suggested")

    class Meta:
        model = Rule
        fields: list[str] = []

    def named(self, rows: QuerySet[Rule], name: str, value: str) -> QuerySet[Rule]:
        return rows.filter(Q(name__icontains=value) | Q(summary__icontains=value))

    def suggested(self, rows: QuerySet[Rule], name: str, value: str) -> QuerySet[Rule]:
        return rows.filter(suggestion__kind=value)


class DecisionFilter(Dated):
    """Tool, run and what differs have an index; the others narrow what is read, newest first."""

    selected_tool = _text(_("Tool"))
    run_id = _text(_("Run"))
    agent_id = _text(_("Agent"))
    user_id = _text(_("User"))
    rule = django_filters.UUIDFilter(label=_("Rule"), method="by_rule", widget=forms.HiddenInput)
    watcher = django_filters.UUIDFilter(
        label=_("Rule"), method="by_watcher", widget=forms.HiddenInput
    )
    kind = _choice(
        _("With"),
        [
            ("differs", _("a change by a watching rule")),
            ("conflicts", _("a conflict")),
            ("none", _("no tool left")),
            ("fallback", _("a fallback")),
            ("rated", _("feedback")),
        ],
        method="of_kind",
    )

    class Meta:
        model = RuleDecision
        fields: list[str] = []

    def by_rule(self, rows: QuerySet[RuleDecision], name: str, value: Any) -> Any:
        return rows.filter(source_rule_ids__contains=[value])

    def by_watcher(self, rows: QuerySet[RuleDecision], name: str, value: Any) -> Any:
        """What a rule would have changed since it began to watch."""
        rule = Rule.objects.filter(pk=value).first()
        if rule is None:
            return rows.none()
        return rows.filter(pk__in=observations_of(rule).filter(changed=True).values("decision"))

    def of_kind(self, rows: QuerySet[RuleDecision], name: str, value: str) -> Any:
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


class FeedbackFilter(Dated):
    """What agents and people said."""

    outcome = _choice(_("Outcome"), RuleFeedback.Outcome.choices)
    run_id = _text(_("Run"))
    rule = django_filters.UUIDFilter(label=_("Rule"), method="of_rule", widget=forms.HiddenInput)

    class Meta:
        model = RuleFeedback
        fields: list[str] = []

    def of_rule(self, rows: QuerySet[RuleFeedback], name: str, value: Any) -> Any:
        return rows.filter(rule_ids__contains=[value])
