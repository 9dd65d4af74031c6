"""How the account has its calls assembled, kept and priced; and how variants do."""

from typing import Any, TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.retention import days_of
from context.actions.settings import change_settings
from context.api.assemble_input import check_policy
from context.api.serializers import IdField
from context.costs import MOST_DAYS, Period
from context.models import ContextSettings
from context.models.settings import LONGEST_KEPT
from context.results import Result, results
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse


class CallSettings(TypedDict):
    """`policy` is what differs from the default; `effective_policy` is what holds."""

    inputs_days: int
    policy: dict[str, Any]
    effective_policy: dict[str, Any]
    prices: dict[str, dict[str, float]]
    variants: dict[str, int]
    version: int


class SettingsInput(serializers.Serializer[Any]):
    """What is given is set, whole; what is not stays."""

    inputs_days = serializers.IntegerField(
        min_value=1, max_value=LONGEST_KEPT, allow_null=True, required=False
    )
    policy = serializers.DictField(required=False)
    prices = serializers.DictField(required=False, help_text="For a million tokens, by model.")
    variants = serializers.DictField(required=False, help_text="Percent by variant; 100 together.")
    version = serializers.IntegerField(
        min_value=0, required=False, help_text="Refused with 409 unless this is the present one."
    )
    reason = serializers.CharField(max_length=500, required=False, allow_blank=True)

    def validate_policy(self, value: dict[str, Any]) -> dict[str, Any]:
        """Each value is one that calls can be assembled by."""
        return check_policy(value)


class SettingsOfCalls(AgentView):
    """How the account has calls assembled, kept and priced. A change is one commit."""

    scopes = {"GET": Scope.CONTEXT_READ, "POST": Scope.ADMIN}
    idempotent = True

    @extend_schema(responses={200: CallSettings})
    def get(self, request: Request) -> Response:
        with acting(self.account):
            return Response(_shown(ContextSettings.objects.here(self.account)))

    @extend_schema(request=SettingsInput, responses={200: CallSettings})
    def post(self, request: Request) -> Response:
        asked = parse(SettingsInput, request)
        version, reason = asked.pop("version", None), asked.pop("reason", "")
        with acting(self.account):
            change_settings(self.account, asked, actor=self.actor, version=version, reason=reason)
            return self.seal(Response(_shown(ContextSettings.objects.here(self.account))))


def _shown(settings: ContextSettings) -> CallSettings:
    return {
        "inputs_days": days_of(settings),
        "policy": settings.policy,
        "effective_policy": settings.assembly().body(),
        "prices": settings.prices,
        "variants": settings.variants,
        "version": settings.version,
    }


class VariantResult(TypedDict):
    """Of one variant; `success` is among the calls whose outcome was told, with a 95 % interval."""

    variant: str
    calls: int
    conversations: int
    told: int
    succeeded: int
    success: float | None
    success_low: float
    success_high: float
    latency_ms: float | None
    latency_p95_ms: float | None
    tokens: float
    cost: float | None


class VariantResults(TypedDict):
    """By variant, over the newest calls of some days."""

    days: int
    shares: dict[str, int]
    results: list[VariantResult]


class VariantsInput(serializers.Serializer[Any]):
    """Which calls."""

    days = serializers.IntegerField(min_value=1, max_value=MOST_DAYS, default=30)
    agent_id = IdField()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class ResultsOfVariants(AgentView):
    """How variants compare on success, latency and cost, as callers told the outcomes."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[VariantsInput], responses={200: VariantResults})
    def get(self, request: Request) -> Response:
        asked = parse(VariantsInput, request)
        with acting(self.account):
            settings = ContextSettings.objects.here(self.account)
            period = Period(
                account_id=self.account,
                days=asked["days"],
                prices=settings.prices,
                agent_id=asked.get("agent_id") or "",
                model=asked.get("model") or "",
            )
            found = [_result(result) for result in results(period)]
        answer: VariantResults = {
            "days": period.days,
            "shares": settings.variants,
            "results": found,
        }
        return Response(answer)


def _result(result: Result) -> VariantResult:
    success = result.success
    return {
        "variant": result.variant,
        "calls": result.calls,
        "conversations": result.conversations,
        "told": success.total,
        "succeeded": success.hits,
        "success": success.share if success.total else None,
        "success_low": success.low,
        "success_high": success.high,
        "latency_ms": result.latency,
        "latency_p95_ms": result.latency_p95,
        "tokens": result.tokens,
        "cost": result.cost,
    }
