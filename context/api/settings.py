"""How the account has its calls assembled, kept and priced."""

from typing import Any, TypedDict

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.retention import days_of
from context.actions.settings import change_settings
from context.api.assemble_input import check_policy
from context.assembly.retrieval_requests import REMOTE_SOURCES
from context.models import ContextSettings
from context.models.settings import LONGEST_KEPT
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse


class CallSettings(TypedDict):
    """`policy` is what differs from the default; `effective_policy` is what holds."""

    inputs_days: int
    policy: dict[str, Any]
    effective_policy: dict[str, Any]
    prices: dict[str, dict[str, float]]
    variants: dict[str, int]
    remote_url: str
    remote_sources: list[str]
    remote_key_set: bool
    version: int


class SettingsInput(Typed):
    """What is given is set, whole; what is not stays."""

    inputs_days = serializers.IntegerField(
        min_value=1, max_value=LONGEST_KEPT, allow_null=True, required=False
    )
    policy = serializers.DictField(required=False)
    prices = serializers.DictField(required=False, help_text="For a million tokens, by model.")
    variants = serializers.DictField(required=False, help_text="Percent by variant; 100 together.")
    remote_url = serializers.CharField(
        max_length=500,
        required=False,
        allow_blank=True,
        help_text="Another kmapp that is asked first: one of REMOTE_BASE_URLS, or nothing.",
    )
    remote_key = serializers.CharField(
        max_length=500, required=False, write_only=True, help_text="Never shown again."
    )
    remote_sources = serializers.ListField(
        child=serializers.ChoiceField(REMOTE_SOURCES), required=False
    )
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
        "remote_url": settings.remote_url,
        "remote_sources": settings.remote_sources,
        "remote_key_set": bool(settings.remote_key),
        "version": settings.version,
    }
