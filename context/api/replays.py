"""Recorded calls made again under another policy: what would be different."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.call_outcomes import one
from context.actions.replays import VARIED, Changes, again, recording_of, varied
from context.api.assemble_input import MOST_TOKENS, READS, check_policy
from context.api.report_response_types import Replayed
from context.assembly.tool_offer import PROFILES
from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied, Invalid
from kmapp.search.variants import VARIANTS


class ReplayInput(Typed):
    """What is to be different from the recorded call. Nothing: only the comparison with itself."""

    policy = serializers.DictField(default=dict)
    context_window_tokens = serializers.IntegerField(
        min_value=1, max_value=MOST_TOKENS, required=False
    )
    reserved_output_tokens = serializers.IntegerField(
        min_value=0, max_value=MOST_TOKENS, required=False
    )
    tool_profile = serializers.ChoiceField(tuple(PROFILES), required=False)
    variant = serializers.ChoiceField(
        tuple(VARIANTS),
        required=False,
        help_text="Memory and knowledge are asked again. By default what was found stands.",
    )

    def validate_policy(self, value: dict[str, Any]) -> dict[str, Any]:
        """Each value is one that calls can be assembled by."""
        return check_policy(value)


def changes_of(asked: Mapping[str, Any]) -> Changes:
    return Changes(
        policy=asked["policy"],
        window=asked.get("context_window_tokens"),
        reserve=asked.get("reserved_output_tokens"),
        profile=asked.get("tool_profile"),
        variant=asked.get("variant"),
    )


def check_may_vary(principal: KeyPrincipal, *changes: Changes) -> None:
    """Whoever has memory and knowledge asked again must be one whom they answer."""
    missing = [scope for scope in (READS[name] for name in VARIED) if not principal.may(scope)]
    if missing and any(each.variant for each in changes):
        raise Denied(
            f"Another variant asks memory and knowledge again: the key needs {missing[0].value}.",
            code="missing_scope",
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
        named = self.requested_variant.name if self.requested_variant else None
        changes = changes_of({"variant": named, **asked})
        check_may_vary(self.request.auth, changes)
        recording = varied(self.account, recording, changes)
        material, policy = changes.on(recording)
        if material.budget <= 0:
            raise Invalid(
                "Nothing is left of the context window.",
                issues=[{"path": "reserved_output_tokens", "message": "leaves nothing"}],
            )
        done = again(recording, changes)
        variant = changes.variant or recording.report.variant
        told = {"report_id": pk, "policy": policy.body(), "variant": variant}
        return Response({**told, **done.differences})
