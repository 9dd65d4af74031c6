"""Filter fields shared by the lists."""

from datetime import date, datetime, time, timedelta
from typing import Any

import django_filters
from django import forms
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _


class Filters(django_filters.FilterSet):  # type: ignore[misc]  # it has no types
    """Filters of a list. The URL holds their state."""

    @property
    def is_narrowed(self) -> bool:
        return any(self.data.get(name) for name in self.filters)


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


def text(label: Any, **more: Any) -> django_filters.CharFilter:
    return django_filters.CharFilter(label=label, widget=_Text, **more)


def choice(label: Any, choices: Any, **more: Any) -> django_filters.ChoiceFilter:
    return django_filters.ChoiceFilter(
        label=label, choices=choices, empty_label=_("any"), widget=_Select, **more
    )


def from_day(label: Any, column: str) -> django_filters.DateFilter:
    return django_filters.DateFilter(column, label=label, method=_since, widget=_Day)


def until_day(label: Any, column: str) -> django_filters.DateFilter:
    """Filter by a last day, inclusive."""
    return django_filters.DateFilter(column, label=label, method=_until, widget=_Day)


def _since(rows: QuerySet[Any], column: str, day: date) -> QuerySet[Any]:
    return rows.filter(**{f"{column}__gte": _midnight(day)})


def _until(rows: QuerySet[Any], column: str, day: date) -> QuerySet[Any]:
    if day == date.max:
        return rows
    return rows.filter(**{f"{column}__lt": _midnight(day + timedelta(days=1))})


def _midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
