"""What a list of tool results can be narrowed to. The state of a list is its address."""

from typing import Any
from uuid import UUID

import django_filters
from django import forms
from django.utils.translation import gettext_lazy as _

from context import words
from context.models import ContextCostReport, ReportQuerySet, ToolResultArchive
from kmapp.variants import VARIANTS


class _Text(forms.TextInput):
    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-control", "autocomplete": "off"})


class _Number(forms.NumberInput):
    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-control", "min": 0})


class _Money(forms.NumberInput):
    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-control", "min": 0, "step": "any"})


class _Choice(forms.Select):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(attrs={"class": "form-select"}, **kwargs)


def _text(label: Any) -> django_filters.CharFilter:
    return django_filters.CharFilter(label=label, widget=_Text)


class ArchiveFilter(django_filters.FilterSet):  # type: ignore[misc]  # it has no types
    """Each field narrows, by equality only."""

    conversation_id = _text(_("Conversation"))
    thread_id = _text(_("Thread"))
    tool_name = _text(_("Tool"))

    class Meta:
        model = ToolResultArchive
        fields: list[str] = []


class CallFilter(django_filters.FilterSet):  # type: ignore[misc]  # it has no types
    """Each field narrows."""

    agent_id = _text(_("Agent"))
    conversation_id = _text(_("Conversation"))
    model = _text(_("Model"))
    variant = django_filters.ChoiceFilter(
        label=_("Variant"),
        choices=[(name, name) for name in VARIANTS],
        empty_label=_("Any"),
        widget=_Choice,
    )
    action = django_filters.ChoiceFilter(
        label=_("Decision"),
        choices=list(words.ACTIONS.items()),
        empty_label=_("Any"),
        method="taken",
        widget=_Choice,
    )
    cites = django_filters.UUIDFilter(method="citing", widget=forms.HiddenInput)
    total = django_filters.NumberFilter(
        label=_("At least, in tokens"), lookup_expr="gte", widget=_Number, max_value=2_000_000_000
    )
    cost = django_filters.NumberFilter(
        label=_("Costs at least"), lookup_expr="gte", widget=_Money, max_value=10_000_000
    )

    class Meta:
        model = ContextCostReport
        fields: list[str] = []

    def taken(self, rows: ReportQuerySet, _name: str, action: str) -> ReportQuerySet:
        """Calls for which something was decided."""
        return rows.filter(actions__contains=[action])

    def citing(self, rows: ReportQuerySet, _name: str, pk: UUID) -> ReportQuerySet:
        """Calls in which a memory, passage, lore or rule was used."""
        return rows.citing(pk)
