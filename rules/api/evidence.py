"""Endpoints for a rule's evidence and backtests."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from kmapp.search.confidence import Interval
from rules.actions.backtests import MOST, start
from rules.actions.conflicts import conflicts_with_live
from rules.actions.rules import get_rule
from rules.api.response_types import BacktestShown, EvidenceAnswer, IntervalShown
from rules.models import RuleBacktest
from rules.promotion.evidence import book_of, evidence_of, gate_of, turns_of


class Evidence(AgentView):
    """What a rule saw while it watched, and what the gate says to it."""

    scopes = {"GET": Scope.RULES_READ}
    bucket = "recall"

    @extend_schema(responses={200: EvidenceAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            rule = get_rule(self.account, pk)
            rule_evidence = evidence_of(rule)
            gate = gate_of(rule_evidence, book_of(self.account))
            clashes, _inspected = conflicts_with_live(rule)
            turns = turns_of(rule)
        answer: EvidenceAnswer = {
            "rule_node_id": rule.pk,
            "state": rule.state,
            "since": rule.shadowed_at,
            "counts": rule_evidence.body(),
            "matched": _interval(rule_evidence.match),
            "changed": _interval(rule_evidence.change),
            "against": _interval(rule_evidence.against),
            "gate_open": gate.open,
            "gate_missing": list(gate.missing),
            "turns": [
                {
                    "selected": one.before or None,
                    "would_select": one.after or None,
                    "times": one.times,
                    "positive": one.good,
                    "negative": one.bad,
                }
                for one in turns
            ],
            "conflicts": [
                {
                    "path": one.path,
                    "code": one.code,
                    "winner_rule_node_id": one.winner,
                    "loser_rule_node_ids": list(one.losers),
                    "times": one.times,
                    "latest_decision_id": one.decision,
                }
                for one in clashes
            ],
        }
        return Response(answer)


def _interval(interval: Interval) -> IntervalShown:
    return {"share": interval.share, "low": interval.low, "high": interval.high}


class BacktestInput(Typed):
    """How many of the last decisions to try a rule on."""

    decisions = serializers.IntegerField(min_value=1, max_value=MOST, default=1_000)


class Backtests(AgentView):
    """Try a rule on the last decisions; GET tells how far the last one is."""

    scopes = {"GET": Scope.RULES_READ, "POST": Scope.RULES_WRITE}
    idempotent = True

    @extend_schema(responses={200: BacktestShown})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            runs = RuleBacktest.objects.of(self.account).filter(rule=get_rule(self.account, pk))
            last = runs.order_by("-created_at").first()
        if last is None:
            raise NotFound("This rule has not been tried yet.")
        return Response(_backtest(last))

    @extend_schema(request=BacktestInput, responses={202: BacktestShown})
    def post(self, request: Request, pk: UUID) -> Response:
        data = parse(BacktestInput, request)
        with acting(self.account):
            run = start(self.account, self.actor, pk, data["decisions"])
            return self.seal(Response(_backtest(run), status=202))


def _backtest(run: RuleBacktest) -> BacktestShown:
    return {
        "id": run.pk,
        "rule_node_id": run.rule_id,
        "status": run.status,
        "total": run.total,
        "done": run.done,
        "seen": run.seen,
        "matched": run.matched,
        "changed": run.changed,
        "examples": run.examples,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
    }
