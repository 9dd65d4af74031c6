"""Recorded calls made again under another policy: what would be different."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.outcomes import one
from context.actions.replays import Changes, again, recording_of
from context.api.assemble_input import MOST_TOKENS, check_policy
from context.api.report_shapes import Replayed
from context.offering import PROFILES
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import Invalid


class ReplayInput(serializers.Serializer[Any]):
    """What is to be different from the recorded call. Nothing: only the comparison with itself."""

    policy = serializers.DictField(default=dict)
    context_window_tokens = serializers.IntegerField(
        min_value=1, max_value=MOST_TOKENS, required=False
    )
    reserved_output_tokens = serializers.IntegerField(
        min_value=0, max_value=MOST_TOKENS, required=False
    )
    tool_profile = serializers.ChoiceField(tuple(PROFILES), required=False)

    def validate_policy(self, value: dict[str, Any]) -> dict[str, Any]:
        """Each value is one that calls can be assembled by."""
        return check_policy(value)


def changes_of(asked: Mapping[str, Any]) -> Changes:
    return Changes(
        policy=asked["policy"],
        window=asked.get("context_window_tokens"),
        reserve=asked.get("reserved_output_tokens"),
        profile=asked.get("tool_profile"),
    )


class Replay(AgentView):
    """Make a recorded call again, of what it was made of, and compare. Nothing is sent or kept.

    When what it was made of is kept no longer, the answer is 410 `inputs_expired`.
    """

    scopes = {"POST": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(request=ReplayInput, responses={200: Replayed})
    def post(self, request: Request, pk: UUID) -> Response:
        asked = parse(ReplayInput, request)
        with acting(self.account):
            recording = recording_of(self.account, one(self.account, pk))
        changes = changes_of(asked)
        material, policy = changes.on(recording)
        if material.budget <= 0:
            raise Invalid(
                "Nothing is left of the context window.",
                issues=[{"path": "reserved_output_tokens", "message": "leaves nothing"}],
            )
        done = again(recording, changes)
        return Response({"report_id": pk, "policy": policy.body(), **done.differences})
