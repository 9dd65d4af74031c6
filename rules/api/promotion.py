"""API of rule promotion: evidence, backtests and the evidence gate."""

from dataclasses import asdict
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid, NotFound
from rules.actions.backtests import MAX_DECISIONS, create_backtest
from rules.actions.conflicts import list_live_conflicts
from rules.actions.record_versions import get_rule, get_sealed_rule
from rules.actions.settings import change_settings
from rules.api.request_serializers import MAX_TEXT_LENGTH
from rules.api.response_types import (
    BacktestShown,
    ClashShown,
    EvidenceAnswer,
    GateShown,
    IntervalShown,
)
from rules.models import RuleBacktest
from rules.models.settings import MAX_RETENTION
from rules.promotion.evidence import list_tool_changes, load_evidence
from rules.promotion.gate import evaluate_gate, load_settings

MAX_COUNT = 1_000_000


class Evidence(AgentView):
    """Return the evidence that a rule collected in shadow, and the result of the gate."""

    scopes = {"GET": Scope.RULES_READ}

    @extend_schema(responses={200: EvidenceAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            rule = get_sealed_rule(self.account, pk)
            evidence = load_evidence(rule)
            gate = evaluate_gate(evidence, load_settings(self.account))
            conflicts, _inspected = list_live_conflicts(rule)
            tool_changes = list_tool_changes(rule)
        answer = serialize_as(
            EvidenceAnswer,
            rule,
            rule_node_id=rule.pk,
            since=rule.shadowed_at,
            counts=evidence.body(),
            matched=serialize_as(IntervalShown, evidence.match),
            changed=serialize_as(IntervalShown, evidence.change),
            against=serialize_as(IntervalShown, evidence.against),
            gate_open=gate.is_open,
            gate_missing=list(gate.missing),
            turns=[asdict(tool_change) for tool_change in tool_changes],
            conflicts=[
                serialize_as(
                    ClashShown,
                    conflict,
                    winner_rule_node_id=conflict.winner,
                    loser_rule_node_ids=list(conflict.losers),
                    latest_decision_id=conflict.decision,
                )
                for conflict in conflicts
            ],
        )
        return Response(answer)


class BacktestInput(Typed):
    """The number of recent decisions to test a rule on."""

    decisions = serializers.IntegerField(min_value=1, max_value=MAX_DECISIONS, default=1_000)


class Backtests(AgentView):
    """Test a rule on the most recent decisions, or return the progress of its last test."""

    scopes = {"GET": Scope.RULES_READ, "POST": Scope.RULES_WRITE}

    @extend_schema(responses={200: BacktestShown})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            runs = RuleBacktest.objects.of(self.account).filter(rule=get_rule(self.account, pk))
            last = runs.order_by("-created_at").first()
        if last is None:
            raise NotFound("This rule has no backtest yet. Start one with POST.")
        return Response(serialize_as(BacktestShown, last, rule_node_id=last.rule_id))

    @extend_schema(request=BacktestInput, responses={202: BacktestShown})
    def post(self, request: Request, pk: UUID) -> Response:
        data = parse(BacktestInput, request)
        with acting(self.account):
            run = create_backtest(self.account, self.actor, pk, data["decisions"])
            body = serialize_as(BacktestShown, run, rule_node_id=run.rule_id)
            return self.seal(Response(body, status=202))


class GateChange(Typed):
    """The settings to change. With `decision_days` null, decisions are stored permanently."""

    min_seen = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, required=False)
    min_changed = serializers.IntegerField(min_value=0, max_value=MAX_COUNT, required=False)
    max_against = serializers.FloatField(min_value=0, max_value=1, required=False)
    second_person = serializers.BooleanField(required=False)
    decision_days = serializers.IntegerField(
        min_value=1, max_value=MAX_RETENTION, required=False, allow_null=True
    )
    reason = serializers.CharField(max_length=MAX_TEXT_LENGTH)


class Gate(AgentView):
    """Return or change the evidence that a rule needs to become active. Changes are recorded."""

    scopes = {"GET": Scope.RULES_READ, "PATCH": Scope.RULES_OVERRIDE}

    @extend_schema(responses={200: GateShown})
    def get(self, request: Request) -> Response:
        with acting(self.account):
            return Response(serialize_as(GateShown, load_settings(self.account)))

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
            change_settings(self.account, data, actor=self.actor, reason=reason)
            return Response(serialize_as(GateShown, load_settings(self.account)))
