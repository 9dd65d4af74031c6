"""Filter fields shared by the lists."""

from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar

import django_filters
from django import forms
from django.db.models import QuerySet
from django.forms.boundfield import BoundField
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

# Characters of a text query. Chinese takes 9 bytes for each in an address; with the other filters,
# these fit in the longest request line that gunicorn accepts.
MAX_QUERY_LENGTH = 800


class Filters(django_filters.FilterSet):  # type: ignore[misc]  # it has no types
    """Filters of a list. The URL holds their state."""

    first_fields: ClassVar[frozenset[str]] = frozenset()  # always visible; if empty, all are

    @property
    def first(self) -> list[BoundField]:
        return [field for field in self.form.visible_fields() if self._is_first(field)]

    @property
    def more(self) -> list[BoundField]:
        """Return the fields that a person expands."""
        return [field for field in self.form.visible_fields() if not self._is_first(field)]

    @property
    def uses_more(self) -> bool:
        return any(self.data.get(field.name) for field in self.more)

    def _is_first(self, field: BoundField) -> bool:
        return not self.first_fields or field.name in self.first_fields

    @property
    def is_narrowed(self) -> bool:
        return any(self.data.get(name) for name in self.filters)

    @property
    def ignored_fields(self) -> list[str]:
        """Return the labels of the fields whose value is not valid; those do not narrow."""
        fields = [self.form[name] for name in self.errors]
        return [field.name if field.is_hidden else str(field.label) for field in fields]


# Fields copy their widget, so all fields of a kind can share one.
_SELECT = forms.Select(attrs={"class": "form-select"})
_TEXT = forms.TextInput(attrs={"class": "form-control", "autocomplete": "off"})
_DAY = forms.DateInput(attrs={"class": "form-control", "type": "date"}, format="%Y-%m-%d")


def text(label: Any, **more: Any) -> django_filters.CharFilter:
    return django_filters.CharFilter(label=label, widget=_TEXT, **more)


def choice(label: Any, choices: Any, **more: Any) -> django_filters.ChoiceFilter:
    return django_filters.ChoiceFilter(
        label=label, choices=choices, empty_label=_("any"), widget=_SELECT, **more
    )


def from_day(label: Any, column: str) -> django_filters.DateFilter:
    return django_filters.DateFilter(column, label=label, method=_filter_since, widget=_DAY)


def until_day(label: Any, column: str) -> django_filters.DateFilter:
    """Filter by a last day, inclusive."""
    return django_filters.DateFilter(column, label=label, method=_filter_until, widget=_DAY)


def _filter_since(rows: QuerySet[Any], column: str, day: date) -> QuerySet[Any]:
    return rows.filter(**{f"{column}__gte": _get_midnight(day)})


def _filter_until(rows: QuerySet[Any], column: str, day: date) -> QuerySet[Any]:
    if day == date.max:
        return rows
    return rows.filter(**{f"{column}__lt": _get_midnight(day + timedelta(days=1))})


def _get_midnight(day: date) -> datetime:
    return timezone.make_aware(datetime.combine(day, time.min))
