"""API of replays of recorded calls."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.record_call import get_report
from context.actions.replays import (
    VARIED_SOURCES,
    Changes,
    get_recorded_call,
    replay,
    retrieve_again,
)
from context.api.assemble_input import MAX_TOKENS, READ_SCOPES, check_policy
from context.api.response_types import Replayed
from context.assembly.tool_profiles import PROFILES
from kmapp.accounts.acting import acting
from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied, Invalid
from kmapp.search.variants import VARIANTS


class ReplayInput(Typed):
    """Changes to the recorded call. Without changes, the call is compared with itself."""

    policy = serializers.DictField(default=dict, validators=[check_policy])
    context_window_tokens = serializers.IntegerField(
        source="window", min_value=1, max_value=MAX_TOKENS, required=False
    )
    reserved_output_tokens = serializers.IntegerField(
        source="reserve", min_value=0, max_value=MAX_TOKENS, required=False
    )
    tool_profile = serializers.ChoiceField(tuple(PROFILES), source="profile", required=False)
    variant = serializers.ChoiceField(
        tuple(VARIANTS),
        required=False,
        help_text="Queries memory and knowledge again. By default the recorded results are used.",
    )


def check_variant_scopes(principal: KeyPrincipal, *changes: Changes) -> None:
    """Raise Denied unless the key may read the sources that a variant queries."""
    required = [READ_SCOPES[name] for name in VARIED_SOURCES]
    missing = [scope for scope in required if not principal.may(scope)]
    if missing and any(change.variant for change in changes):
        raise Denied(
            f"A variant queries memory and knowledge again. The key needs {missing[0].value}.",
            code="missing_scope",
        )


class Replay(AgentView):
    """Replay a recorded call from its stored inputs and compare. Nothing is sent or stored.

    Expired inputs return 410 `inputs_expired`.
    """

    scopes = {"POST": Scope.CONTEXT_READ}

    @extend_schema(request=ReplayInput, responses={200: Replayed})
    def post(self, request: Request, pk: UUID) -> Response:
        params = parse(ReplayInput, request)
        with acting(self.account):
            recording = get_recorded_call(self.account, get_report(self.account, pk))
        variant_name = self.requested_variant.name if self.requested_variant else None
        changes = Changes(**{"variant": variant_name, **params})
        check_variant_scopes(self.request.auth, changes)
        recording = retrieve_again(self.account, recording, changes)
        call_input, policy = changes.apply_to(recording)
        if call_input.budget <= 0:
            raise Invalid(
                "The reserved output leaves nothing of the context window.",
                issues=[{"path": "reserved_output_tokens", "message": "leaves nothing"}],
            )
        result = replay(recording, changes)
        variant = changes.variant or recording.report.variant
        common = {"report_id": pk, "policy": policy.body(), "variant": variant}
        return Response({**common, **result.differences})
