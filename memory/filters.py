"""What a list of memories can be narrowed to. The state of a list is its address."""

from datetime import date, datetime, time, timedelta
from typing import Any

import django_filters
from django import forms
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kmapp.providers.active import active_model
from kmapp.search.models import Vector
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION

Rows = QuerySet[MemoryEntry]
State = Vector.State


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


def _choice(label: Any, choices: Any, **more: Any) -> django_filters.ChoiceFilter:
    return django_filters.ChoiceFilter(
        label=label, choices=choices, empty_label=_("any"), widget=_Select, **more
    )


def _day(label: Any, method: str) -> django_filters.DateFilter:
    return django_filters.DateFilter(label=label, method=method, widget=_Day)


class EntryFilter(django_filters.FilterSet):  # type: ignore[misc]  # it has no types
    """Each field narrows.

    Status, user, agent and run have an index; the others narrow the account's rows as they are
    read, newest first.
    """

    status = _choice(_("Status"), MemoryEntry.Status.choices)
    kind = _choice(_("Kind"), MemoryEntry.Kind.choices)
    visibility = _choice(_("Visible to"), MemoryEntry.Visibility.choices)
    user_id = django_filters.CharFilter(label=_("User"), widget=_Text)
    agent_id = django_filters.CharFilter(label=_("Agent"), widget=_Text)
    run_id = django_filters.CharFilter(label=_("Run"), widget=_Text)
    tag = django_filters.CharFilter(label=_("Tag"), method="tagged", widget=_Text)
    pinned = _choice(_("Pinned"), [("true", _("pinned"))], method="only_pinned")
    embedding = _choice(_("Meaning"), State.choices, method="embedded")
    tier = _choice(_("Tier"), MemoryEntry.Tier.choices)
    since = _day(_("Observed from"), "observed_since")
    until = _day(_("Observed until"), "observed_until")

    class Meta:
        model = MemoryEntry
        fields: list[str] = []

    def tagged(self, rows: Rows, name: str, value: str) -> Rows:
        return rows.filter(tags__contains=[value])

    def only_pinned(self, rows: Rows, name: str, value: str) -> Rows:
        return rows.filter(pinned=True)

    def embedded(self, rows: Rows, name: str, value: str) -> Rows:
        """As `MemoryEntry.embedding_state` has it: FAILED before PENDING before READY."""
        mine = Vector.objects.filter(
            account_id=OuterRef("account_id"),
            collection=COLLECTION,
            object_id=OuterRef("pk"),
            model_id=active_model().pk,
        )
        failed = Exists(mine.filter(state=State.FAILED))
        if value == State.FAILED:
            return rows.filter(failed)
        pending = Exists(mine.filter(state=State.PENDING))
        if value == State.PENDING:
            return rows.filter(pending & ~failed)
        return rows.filter(Exists(mine.filter(state=State.READY)) & ~pending & ~failed)

    def observed_since(self, rows: Rows, name: str, value: date) -> Rows:
        return rows.filter(observed_at__gte=_midnight(value))

    def observed_until(self, rows: Rows, name: str, value: date) -> Rows:
        """The day itself is part of it."""
        if value == date.max:
            return rows
        return rows.filter(observed_at__lt=_midnight(value + timedelta(days=1)))


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
