"""Endpoint for rating memories."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api import batch_node_registry
from kmapp.api.permissions import require_scope
from kmapp.api.serializers import IdField
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse
from memory.actions.feedback import rate_entry
from memory.actions.judgements import NewJudgement, store_judgements
from memory.actions.review import Decision
from memory.api.access import MemoryReference, filter_readable, get_entry
from memory.api.response_types import Rating
from memory.api.shared_request_serializers import MAX_QUERY_LENGTH, build_viewer
from memory.models import Judgement, MemoryRating

Outcome, Label = MemoryRating.Outcome, Judgement.Label
LABELS: Mapping[str, Judgement.Label] = {
    Outcome.POSITIVE: Label.RELEVANT,
    Outcome.NEUTRAL: Label.WITHDRAWN,
    Outcome.NEGATIVE: Label.NOT_RELEVANT,
    Outcome.VERY_NEGATIVE: Label.NOT_RELEVANT,
}


class FeedbackInput(MemoryReference):
    """A rating of a memory."""

    aliases = {**MemoryReference.aliases, "feedback": "outcome", "feedback_reason": "reason"}

    outcome = serializers.ChoiceField(choices=MemoryRating.Outcome.choices)
    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)
    query = serializers.CharField(
        max_length=MAX_QUERY_LENGTH,
        required=False,
        allow_blank=True,
        help_text="The question that it was recalled for. Learned rankings use it.",
    )
    used_in = IdField(help_text="The run it was used in: each run counts once.")


class Feedback(AgentView):
    """Rate a memory: useful (positive), outdated (negative) or wrong (very_negative).

    The rating changes the salience of an active memory, and thereby its rank in searches. Each key
    counts once per run; a new rating replaces the previous one. With `rule_node_id` the rating is
    for that rule, as in /v1/rules/{id}/feedback, which also needs the scope rules:write.
    """

    scopes = {"POST": Scope.MEMORY_WRITE}

    @extend_schema(request=FeedbackInput, responses={201: Rating, 200: Rating})
    def post(self, request: Request) -> Response:
        if kind := batch_node_registry.find_rated_kind(request.data):
            return self._rate_foreign_node(kind, request)
        data = parse(FeedbackInput, request)
        with acting(self.account):
            entry = get_entry(self.account, filter_readable(self.request.auth, data), data)
            decision = Decision(
                account_id=self.account,
                entry_id=entry.pk,
                actor=self.actor,
                reason=data.get("reason", ""),
            )
            # First, because it locks judgements, and the rating locks the chain before it ends.
            if data.get("query"):
                self._judge(entry.pk, data)
            rated = rate_entry(decision, data["outcome"], used_in=data.get("used_in") or "")
            output = serialize_as(
                Rating,
                rated.rating,
                memory_id=rated.entry.pk,
                salience=rated.entry.salience,
                version=rated.entry.version,
            )
            return self.seal(Response(output, status=201 if rated.changed else 200))

    def _judge(self, entry_id: UUID, data: Mapping[str, Any]) -> None:
        """Record whether the memory was relevant to the question."""
        judgement = NewJudgement(
            question=data["query"],
            entry_id=entry_id,
            label=LABELS[data["outcome"]],
            viewer=build_viewer(data),
        )
        store_judgements(self.account, self.actor, [judgement], Judgement.Source.FEEDBACK)

    def _rate_foreign_node(self, kind: batch_node_registry.NodeKind, request: Request) -> Response:
        """Rate an object of another app."""
        require_scope(self.request.auth, kind.scope)
        with acting(self.account):
            result = kind.rate(self.account, self.actor, request.data)
            return self.seal(Response(result.response, status=201 if result.is_new else 200))
