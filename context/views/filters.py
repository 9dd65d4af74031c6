"""Filters of the lists of tool results and calls."""

from uuid import UUID

import django_filters
from django import forms
from django.utils.translation import gettext_lazy as _

from context.models import ReportQuerySet
from context.reports import report_labels
from kmapp.search.variants import VARIANTS
from kmapp.web.filters import Filters, choice, from_day, text, until_day
from kmapp.web.object_usage import list_object_parts

_NUMBER = forms.NumberInput(attrs={"class": "form-control", "min": 0})
_MONEY = forms.NumberInput(attrs={"class": "form-control", "min": 0, "step": "any"})


class ArchiveFilter(Filters):
    conversation_id = text(_("Session"))
    thread_id = text(_("Thread"))
    tool_name = text(_("Tool"))


class CallFilter(Filters):
    first_fields = frozenset({"agent_id", "model", "since"})

    agent_id = text(_("Agent"))
    conversation_id = text(_("Session"))
    model = text(_("Model"))
    variant = choice(_("Variant"), [(name, name) for name in VARIANTS])
    action = choice(_("Decision"), list(report_labels.ACTIONS.items()), method="filter_action")
    cites = django_filters.UUIDFilter(method="citing", widget=forms.HiddenInput)
    total = django_filters.NumberFilter(
        label=_("Minimum tokens"), lookup_expr="gte", widget=_NUMBER, max_value=2_000_000_000
    )
    cost = django_filters.NumberFilter(
        label=_("Minimum cost"), lookup_expr="gte", widget=_MONEY, max_value=10_000_000
    )
    since = from_day(_("From"), "created_at")
    until = until_day(_("Until"), "created_at")

    def filter_action(self, rows: ReportQuerySet, _name: str, action: str) -> ReportQuerySet:
        return rows.filter(actions__contains=[action])

    def citing(self, rows: ReportQuerySet, _name: str, pk: UUID) -> ReportQuerySet:
        return rows.citing(list_object_parts(self.request.account_id, pk))
