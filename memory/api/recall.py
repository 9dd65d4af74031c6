"""Endpoints for recall and prompt blocks."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.scopes import Scope
from kmapp.api.rule_evaluator import evaluate_rules
from kmapp.api.throttles import count_request
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied, Invalid
from kmapp.providers.active_models import active_model
from kmapp.providers.vector_validation import MAX_VALUE
from kmapp.search.query_vector import QueryVector
from kmapp.search.variants import Variant
from memory.api import serialize, serialize_aionis_recall
from memory.api.response_types import InjectAnswer, RecallAnswer, RecallTextAnswer
from memory.api.shared_request_serializers import (
    MAX_QUERY_LENGTH,
    QueryFilters,
    Share,
    build_viewer,
)
from memory.models.settings import MAX_INJECTED
from memory.retrieval.access_counters import count_accesses
from memory.retrieval.active_rankings import apply_rankings
from memory.retrieval.filter_expressions import parse_filter
from memory.retrieval.prompt_block import build_prompt_block
from memory.retrieval.recall import DEFAULT_SEEDS as SEEDS
from memory.retrieval.recall import RecallRequest, recall_memories
from memory.retrieval.search import SearchRequest

MAX_DIMENSIONS = 4_096
DEBUG_SEEDS = 20
RULES_NOT_READ = {
    "code": "missing_scope",
    "message": "The key lacks the scope rules:read, so rules_context was not evaluated.",
}


def build_search_request(
    account_id: UUID, data: Mapping[str, Any], variant: Variant
) -> SearchRequest:
    """Build the search of a request. Its variant has the ranking of the account."""
    request = SearchRequest(
        query=data.get("query", ""),
        viewer=build_viewer(data),
        limit=data["limit"],
        kinds=tuple(data.get("kinds", ())),
        tags=tuple(data.get("tags", ())),
        min_score=data.get("min_score") or 0.0,
        observed_after=data.get("observed_after"),
        observed_before=data.get("observed_before"),
        filters=parse_filter(data["filters"]) if data.get("filters") else None,
        as_of=data.get("as_of"),
        variant=variant,
    )
    return apply_rankings(account_id, request)


class _RecallInput(QueryFilters):
    """Limits of the subgraph and contents of the response."""

    limit = serializers.IntegerField(min_value=1, max_value=200, default=SEEDS)
    min_score = Share(default=0.0)
    neighborhood_hops = serializers.IntegerField(min_value=1, max_value=2, default=2)
    max_nodes = serializers.IntegerField(min_value=1, max_value=200, default=50)
    max_edges = serializers.IntegerField(min_value=0, max_value=100, default=100)
    ranked_limit = serializers.IntegerField(min_value=1, max_value=200, default=100)
    min_edge_weight = Share(default=0.0)
    min_edge_confidence = Share(default=0.0)
    include_meta = serializers.BooleanField(default=False)
    include_slots = serializers.BooleanField(default=False)
    include_slots_preview = serializers.BooleanField(default=False)
    return_debug = serializers.BooleanField(default=False)
    include_embeddings = serializers.BooleanField(default=False)
    max_debug_bytes = serializers.IntegerField(min_value=1, max_value=16_384, default=16_384)
    context_token_budget = serializers.IntegerField(
        min_value=1, max_value=100_000, required=False, allow_null=True
    )
    rules_context = serializers.DictField(
        required=False,
        allow_null=True,
        help_text="Context to evaluate the rules for, with a key that has the scope rules:read.",
    )
    rules_include_shadow = serializers.BooleanField(default=False)
    rules_limit = serializers.IntegerField(min_value=1, max_value=200, default=50)
    context_char_budget = serializers.IntegerField(
        min_value=1, max_value=400_000, required=False, allow_null=True
    )


class RecallTextInput(_RecallInput):
    """A query."""

    aliases = {**_RecallInput.aliases, "query_text": "query", "consumer_agent_id": "agent_id"}

    query = serializers.CharField(max_length=MAX_QUERY_LENGTH)


class RecallInput(_RecallInput):
    """The embedding of a query, computed by the client with the active model."""

    aliases = {**_RecallInput.aliases, "consumer_agent_id": "agent_id"}

    query_embedding = serializers.ListField(
        child=serializers.FloatField(), min_length=1, max_length=MAX_DIMENSIONS
    )


class _RecallView(AgentView):
    scopes = {"POST": Scope.MEMORY_READ}

    def run_recall(
        self, data: Mapping[str, Any], meaning: QueryVector | None = None
    ) -> dict[str, Any]:
        self._authorize_debugging(data)
        search = build_search_request(self.account, data, self.variant)
        self.variant = search.variant
        recall_request = RecallRequest(
            search=search,
            hops=data["neighborhood_hops"],
            max_nodes=data["max_nodes"],
            max_edges=data["max_edges"],
            min_weight=data["min_edge_weight"],
            min_confidence=data["min_edge_confidence"],
        )
        recalled = recall_memories(self.account, recall_request, meaning)
        count_accesses(self.account, recalled.entries)
        output = serialize_aionis_recall.serialize_recall(self.account, recalled, data)
        if data.get("rules_context") is None:
            return output
        if not self.request.auth.may(Scope.RULES_READ):
            return output | {"decisions": [*output["decisions"], RULES_NOT_READ]}
        return output | {"rules": self._evaluate_rules(data)}

    def _evaluate_rules(self, data: Mapping[str, Any]) -> Mapping[str, Any] | None:
        question = {
            **{name: data.get(name) for name in ("user_id", "agent_id", "app_id", "scope")},
            "context": data["rules_context"],
            "include_shadow": data["rules_include_shadow"],
            "limit": data["rules_limit"],
        }
        return evaluate_rules(self.account, question)

    def _authorize_debugging(self, data: Mapping[str, Any]) -> None:
        """Allow vector previews to admin keys only, within a rate limit."""
        if not (data["return_debug"] and data["include_embeddings"]):
            return
        principal = self.request.auth
        if not principal.may(Scope.ADMIN):
            raise Denied("Only an admin key may look at embeddings.", code="admin_required")
        if data["limit"] > DEBUG_SEEDS:
            issue = {"path": "limit", "message": f"at most {DEBUG_SEEDS} with include_embeddings"}
            raise Invalid("Request fewer results to include embeddings.", issues=[issue])
        if budget := count_request("debug", str(principal.key_id)):
            budget.enforce()


class RecallText(_RecallView):
    """Recall memories for a query, with related memories.

    The response contains the seeds, the subgraph of related memories, a ranking, and a text within
    a budget.
    """

    @extend_schema(request=RecallTextInput, responses={200: RecallTextAnswer})
    def post(self, request: Request) -> Response:
        data = parse(RecallTextInput, request)
        output = self.run_recall(data)
        query_output = {"text": data["query"], "embedding_provider": active_model().name}
        return Response({**output, "query": query_output})


class RecallByVector(_RecallView):
    """Recall memories for an embedding that the client computed."""

    @extend_schema(request=RecallInput, responses={200: RecallAnswer})
    def post(self, request: Request) -> Response:
        data = parse(RecallInput, request)
        model = active_model()
        vector = data["query_embedding"]
        if len(vector) != model.dimensions or not any(vector) or max(map(abs, vector)) > MAX_VALUE:
            message = (
                f"must be {model.dimensions} numbers up to {MAX_VALUE:.0f}, not all of them 0:"
                f" {model.name}"
            )
            issue = {"path": "query_embedding", "message": message}
            raise Invalid("This vector does not fit the active model.", issues=[issue])
        return Response(self.run_recall(data, QueryVector.from_floats(model, vector)))


class InjectInput(QueryFilters):
    """A query, and the limits of the prompt block."""

    query = serializers.CharField(max_length=MAX_QUERY_LENGTH)
    max_memories = serializers.IntegerField(
        min_value=1,
        max_value=MAX_INJECTED,
        required=False,
        allow_null=True,
        help_text="Default: the account's policy.",
    )
    token_budget = serializers.IntegerField(
        min_value=1, max_value=100_000, required=False, allow_null=True
    )
    min_score = Share(required=False, allow_null=True)


class Inject(AgentView):
    """Return a block of memories for a prompt.

    With a `run_id`, half of the memories are from that run, the others from everything else that
    the IDs can see.
    """

    scopes = {"POST": Scope.MEMORY_READ}

    @extend_schema(request=InjectInput, responses={200: InjectAnswer})
    def post(self, request: Request) -> Response:
        data = parse(InjectInput, request)
        limits = {"limit": 1, "min_score": 0.0}
        search = build_search_request(self.account, {**data, **limits}, self.variant)
        self.variant = search.variant
        injected = build_prompt_block(
            self.account,
            search,
            max_memories=data.get("max_memories"),
            max_tokens=data.get("token_budget"),
            min_score=data.get("min_score"),
        )
        count_accesses(self.account, [hit.entry.pk for hit in injected.hits])
        output = serialize_as(
            InjectAnswer,
            injected,
            memories=[
                serialize.serialize_hit(hit, self.variant, explain=data["explain"])
                for hit in injected.hits
            ],
            query=data["query"],
            **self.variant.versions(),
        )
        return Response(output)
