"""Assembling calls, and the accounts of those that were assembled."""

from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.assemble import PIPELINE
from context.actions.call_outcomes import one, tell_outcome
from context.actions.replays import has_inputs
from context.api import serialize_reports
from context.api.assemble_input import AssembleInput, request_of
from context.api.report_response_types import AssembledCall, Report, ReportPage
from context.api.request_serializers import Conversation
from context.models import ContextCostReport, ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import AgentRequest
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse

MOST = 2_000_000_000


class Assemble(AgentView):
    """Make a call that fits: prompt, messages and tools within the budget, with references.

    What had to give way, and for how many tokens, stands in `context_cost`; the account is kept.
    """

    scopes = {"POST": Scope.CONTEXT_WRITE}
    idempotent = True

    @extend_schema(request=AssembleInput, responses={201: AssembledCall})
    def post(self, request: Request) -> Response:
        asked = parse(AssembleInput, request)
        done = PIPELINE.run(request_of(cast(AgentRequest, request), asked, self.requested_variant))
        self.variant = done.assembled.collected.variant
        answer = Response(serialize_reports.call_output(done), status=201)
        with acting(self.account):
            return self.seal(answer)


class ReportsInput(Conversation):
    """Which calls to list."""

    model = serializers.CharField(max_length=100, required=False)
    variant = serializers.CharField(max_length=50, required=False)
    action = serializers.CharField(max_length=50, required=False, help_text="A decision taken.")
    before = serializers.UUIDField(required=False, help_text="The last one you have.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class Reports(AgentView):
    """The calls that were assembled, newest first."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[ReportsInput], responses={200: ReportPage})
    def get(self, request: Request) -> Response:
        asked = parse(ReportsInput, request)
        names = ("conversation_id", "thread_id", "user_id", "agent_id", "model", "variant")
        given = {name: asked[name] for name in names if asked.get(name)}
        with acting(self.account):
            calls = ContextCostReport.objects.of(self.account)
            rows = calls.filter(**given)
            if asked.get("action"):
                rows = rows.filter(actions__contains=[asked["action"]])
            if asked.get("before"):
                rows = rows.after(asked["before"])
            found = list(calls.these(rows.newest_first().ids()[: asked["limit"]]))
        following = found[-1].pk if len(found) == asked["limit"] else None
        shown = [serialize_reports.brief_output(row) for row in found]
        return Response({"results": shown, "next": following})


class OneReport(AgentView):
    """One call: its whole account, its outcome, and what OpenTelemetry calls it."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(responses={200: Report})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            return Response(_shown(self.account, one(self.account, pk)))


def _shown(account_id: UUID, row: ContextCostReport) -> Report:
    settings = ContextSettings.objects.here(account_id)
    return serialize_reports.report_output(row, settings, has_inputs=has_inputs(account_id, row.pk))


def _tokens() -> serializers.IntegerField:
    return serializers.IntegerField(min_value=0, max_value=MOST, required=False, allow_null=True)


class UsageInput(Typed):
    """What the provider counted, in its own words: OpenAI's, Anthropic's or OpenTelemetry's."""

    input_tokens = _tokens()
    output_tokens = _tokens()
    cached_tokens = _tokens()

    def to_internal_value(self, data: Any) -> Any:
        """Every provider names them otherwise."""
        if isinstance(data, dict):
            data = {**_renamed(data), **{k: v for k, v in data.items() if k in self.fields}}
        return super().to_internal_value(data)


_NAMES = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_tokens",
}


def _renamed(data: dict[str, Any]) -> dict[str, Any]:
    found = {ours: data[theirs] for theirs, ours in _NAMES.items() if theirs in data}
    for name in ("prompt_tokens_details", "input_tokens_details"):
        details = data.get(name)
        if isinstance(details, dict) and "cached_tokens" in details:
            found["cached_tokens"] = details["cached_tokens"]
    return found


class OutcomeInput(Typed):
    """How a call went."""

    success = serializers.BooleanField(required=False, allow_null=True, default=None)
    usage = UsageInput(required=False)
    latency_ms = _tokens()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class ReportOutcome(AgentView):
    """Tell how a call went: success, what the provider counted, how long it took."""

    scopes = {"POST": Scope.CONTEXT_WRITE}
    idempotent = True

    @extend_schema(request=OutcomeInput, responses={200: Report})
    def post(self, request: Request, pk: UUID) -> Response:
        asked = parse(OutcomeInput, request)
        told = {**asked.pop("usage", {}), **asked}
        with acting(self.account):
            row = tell_outcome(self.account, pk, told)
            return self.seal(Response(_shown(self.account, row)))
