"""API of call assembly and reports."""

from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.assemble import prepare_call, store_call
from context.actions.input_retention import inputs_days
from context.actions.record_call import get_report, record_outcome
from context.actions.replays import has_inputs
from context.api import serialize
from context.api.assemble_input import AssembleInput, build_request
from context.api.request_serializers import Conversation
from context.api.response_types import AssembledCall, Report, ReportPage
from context.models import ContextCostReport, ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import AgentRequest
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse

MAX_TOKENS = 2_000_000_000


class Assemble(AgentView):
    """Assemble a call: prompt, messages and tools within the budget, with references.

    `context_cost` lists what was dropped, with tokens; the report is stored.
    """

    scopes = {"POST": Scope.CONTEXT_WRITE}

    @extend_schema(request=AssembleInput, responses={201: AssembledCall})
    def post(self, request: Request) -> Response:
        params = parse(AssembleInput, request)
        call = prepare_call(
            build_request(cast(AgentRequest, request), params, self.requested_variant)
        )
        self.variant = call.assembled.collected.variant
        with acting(self.account):
            result = store_call(call)
            return self.seal(Response(serialize.serialize_call(result), status=201))


class ReportsInput(Conversation):
    """A filter of calls."""

    model = serializers.CharField(max_length=100, required=False)
    variant = serializers.CharField(max_length=50, required=False)
    action = serializers.CharField(
        max_length=50, required=False, help_text="An action among the decisions."
    )
    before = serializers.UUIDField(required=False, help_text="The last ID of the previous page.")
    limit = serializers.IntegerField(min_value=1, max_value=200, default=50)


class Reports(AgentView):
    """List the assembled calls, newest first."""

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(parameters=[ReportsInput], responses={200: ReportPage})
    def get(self, request: Request) -> Response:
        params = parse(ReportsInput, request)
        names = ("conversation_id", "thread_id", "user_id", "agent_id", "model", "variant")
        filters = {name: params[name] for name in names if params.get(name)}
        with acting(self.account):
            calls = ContextCostReport.objects.of(self.account)
            rows = calls.filter(**filters)
            if params.get("action"):
                rows = rows.filter(actions__contains=[params["action"]])
            if params.get("before"):
                rows = rows.after(params["before"], account_id=self.account)
            ids = list(rows.newest_first().ids()[: params["limit"] + 1])
            page = calls.load_page(ids[: params["limit"]])
            results = [serialize.serialize_brief(row) for row in page]
        next_id = ids[-2] if len(ids) > params["limit"] else None
        return Response({"results": results, "next": next_id})


class OneReport(AgentView):
    """Return one call: its full report, its outcome and its OpenTelemetry attributes."""

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(responses={200: Report})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            return Response(_serialize_report(self.account, get_report(self.account, pk)))


def _serialize_report(account_id: UUID, row: ContextCostReport) -> Report:
    days = timedelta(days=inputs_days(ContextSettings.objects.get_or_default(account_id)))
    return serialize_as(
        Report,
        row,
        **serialize.serialize_brief(row),
        context_cost=row.report,
        attributes=serialize.build_attributes(row),
        inputs_expire_at=row.created_at + days if has_inputs(account_id, row.pk) else None,
    )


def _tokens_field() -> serializers.IntegerField:
    return serializers.IntegerField(
        min_value=0, max_value=MAX_TOKENS, required=False, allow_null=True
    )


_USAGE_NAMES = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "cache_read_input_tokens": "cached_tokens",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "gen_ai.usage.cache_read.input_tokens": "cached_tokens",
}
_DETAILS = ("prompt_tokens_details", "input_tokens_details")  # which have `cached_tokens`
# Anthropic's input tokens that are not among its `input_tokens`.
_CACHED_APART = ("cache_read_input_tokens", "cache_creation_input_tokens")
# What providers send along, and no report has.
_UNUSED = (
    *("total_tokens", "completion_tokens_details", "output_tokens_details"),
    *("cache_creation", "server_tool_use", "service_tier"),
)


class UsageInput(Typed):
    """Token counts of the provider, with the names of OpenAI, Anthropic or OpenTelemetry."""

    other_names = (*_USAGE_NAMES, *_DETAILS, *_CACHED_APART, *_UNUSED)

    input_tokens = _tokens_field()
    output_tokens = _tokens_field()
    cached_tokens = _tokens_field()

    def to_internal_value(self, data: Any) -> Any:
        """Rename the provider's fields."""
        if isinstance(data, dict):
            own = {name: value for name, value in data.items() if name in self.fields}
            data = {**_rename_usage(data), **own, **_sum_input(data)}
        return super().to_internal_value(data)


def _rename_usage(data: dict[str, Any]) -> dict[str, Any]:
    usage = {ours: data[theirs] for theirs, ours in _USAGE_NAMES.items() if theirs in data}
    for name in _DETAILS:
        details = data.get(name)
        if isinstance(details, dict) and "cached_tokens" in details:
            usage["cached_tokens"] = details["cached_tokens"]
    return usage


def _sum_input(data: dict[str, Any]) -> dict[str, int]:
    """Return all input tokens, if the provider counts those of its cache apart."""
    apart = [data[name] or 0 for name in _CACHED_APART if name in data]
    values = [data.get("input_tokens"), *apart]
    counts = [each for each in values if type(each) is int and each >= 0]
    return {"input_tokens": sum(counts)} if apart and len(counts) == len(values) else {}


class OutcomeInput(Typed):
    """The outcome of a call."""

    success = serializers.BooleanField(required=False, allow_null=True, default=None)
    usage = UsageInput(required=False)
    latency_ms = _tokens_field()
    model = serializers.CharField(max_length=100, required=False, allow_blank=True)


class ReportOutcome(AgentView):
    """Report the outcome of a call: success, the provider's token counts and latency."""

    scopes = {"POST": Scope.CONTEXT_WRITE}

    @extend_schema(request=OutcomeInput, responses={200: Report})
    def post(self, request: Request, pk: UUID) -> Response:
        params = parse(OutcomeInput, request)
        outcome = {**params.pop("usage", {}), **params}
        with acting(self.account):
            row = record_outcome(self.account, pk, outcome)
            return self.seal(Response(_serialize_report(self.account, row)))
