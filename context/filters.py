"""What a list of tool results can be narrowed to. The state of a list is its address."""

from typing import Any

import django_filters
from django import forms
from django.utils.translation import gettext_lazy as _

from context.models import ToolResultArchive


class _Text(forms.TextInput):
    def __init__(self) -> None:
        super().__init__(attrs={"class": "form-control", "autocomplete": "off"})


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
