"""What a list of memories can be narrowed to. The state of a list is its address."""

from typing import Any

import django_filters
from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from memory.models import MemoryEntry

SORTS = [
    ("-created_at", _("Newest first")),
    ("created_at", _("Oldest first")),
    ("-updated_at", _("Last changed")),
    ("-importance", _("Most important")),
]


class _Select(forms.Select):
    def __init__(self, **more: Any) -> None:
        super().__init__(attrs={"class": "form-select"}, **more)


class _Text(forms.TextInput):
    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-control", "autocomplete": "off"})


def _choice(label: Any, choices: Any) -> django_filters.ChoiceFilter:
    return django_filters.ChoiceFilter(
        label=label, choices=choices, empty_label=_("any"), widget=_Select
    )


class EntryFilter(django_filters.FilterSet):  # type: ignore[misc]  # it has no types
    """Each field narrows, by equality only.

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
    pinned = django_filters.ChoiceFilter(
        label=_("Pinned"), choices=[("true", _("pinned"))], empty_label=_("any"),
        method="only_pinned", widget=_Select,
    )  # fmt: skip

    class Meta:
        model = MemoryEntry
        fields: list[str] = []

    def tagged(self, rows: QuerySet[MemoryEntry], name: str, value: str) -> QuerySet[MemoryEntry]:
        return rows.filter(tags__contains=[value])

    def only_pinned(
        self, rows: QuerySet[MemoryEntry], name: str, value: str
    ) -> QuerySet[MemoryEntry]:
        return rows.filter(pinned=True)
