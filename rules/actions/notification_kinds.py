"""Kinds of events about rules that people are notified about."""

from collections.abc import Sequence
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.permissions import Permission
from kmapp.notifications.kinds import EventKind, Severity, Subject, register_kind
from rules.models import RulePromotion


def load_pending_requests(account_id: UUID, rules: Sequence[str]) -> dict[str, Subject]:
    rows = RulePromotion.objects.of(account_id).undecided().filter(rule_id__in=rules)
    return {
        str(rule): Subject(title=name, count=1)
        for rule, name in rows.values_list("rule_id", "rule__name")
    }


PROMOTION_REQUESTED = register_kind(
    EventKind(
        name="promotion.requested",
        label=_("The promotion of a rule needs approval"),
        needs=Permission.PROMOTE,
        severity=Severity.INFO,
        icon="scale",
        text=lambda _rule, _count: gettext("The promotion of a rule needs approval"),
        url=lambda rule: reverse("rules:promotion", args=[rule]),
        load=load_pending_requests,
    )
)
