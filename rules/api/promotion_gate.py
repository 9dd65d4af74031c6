"""Endpoint of the evidence gate."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid
from rules.actions.settings import change_book
from rules.api.request_serializers import TEXT
from rules.api.response_types import GateShown
from rules.models import RuleBook
from rules.models.settings import MAX_RETENTION
from rules.promotion.evidence import book_of

MOST = 1_000_000


class GateChange(Typed):
    """What to change. Only what is given changes; `decision_days` null: decisions stay."""

    min_seen = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    min_changed = serializers.IntegerField(min_value=0, max_value=MOST, required=False)
    max_against = serializers.FloatField(min_value=0, max_value=1, required=False)
    second_person = serializers.BooleanField(required=False)
    decision_days = serializers.IntegerField(
        min_value=1, max_value=MAX_RETENTION, required=False, allow_null=True
    )
    reason = serializers.CharField(max_length=TEXT)


class Gate(AgentView):
    """What a rule must have shown before it counts. A change is recorded with its reason."""

    scopes = {"GET": Scope.RULES_READ, "PATCH": Scope.RULES_OVERRIDE}

    @extend_schema(responses={200: GateShown})
    def get(self, request: Request) -> Response:
        with acting(self.account):
            return Response(_serialize_gate(book_of(self.account)))

    @extend_schema(request=GateChange, responses={200: GateShown})
    def patch(self, request: Request) -> Response:
        data = parse(GateChange, request)
        reason = data.pop("reason")
        if not data:
            raise Invalid(
                "Send at least one field to change.",
                issues=[{"path": "min_seen", "message": "nothing"}],
            )
        with acting(self.account):
            change_book(self.account, data, actor=self.actor, reason=reason)
            return Response(_serialize_gate(book_of(self.account)))


def _serialize_gate(book: RuleBook) -> GateShown:
    return {
        "min_seen": book.min_seen,
        "min_changed": book.min_changed,
        "max_against": book.max_against,
        "second_person": book.second_person,
        "decision_days": book.decision_days,
    }
