"""API of the settings for call assembly, retention and prices."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.input_retention import inputs_days
from context.actions.settings import change_settings
from context.api.assemble_input import check_policy
from context.assembly.retrieval_request import REMOTE_SOURCES
from context.models import ContextSettings
from context.models.settings import MAX_RETENTION_DAYS
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import ParsedAnswer, serialize_as
from kmapp.api.views import AgentView, parse


class CallSettings(ParsedAnswer):
    """`policy` holds the changes to the default; `effective_policy` is the result."""

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
    """The settings to change; each replaces its previous value."""

    inputs_days = serializers.IntegerField(
        min_value=1, max_value=MAX_RETENTION_DAYS, allow_null=True, required=False
    )
    policy = serializers.DictField(required=False, validators=[check_policy])
    prices = serializers.DictField(required=False, help_text="Per million tokens, by model.")
    variants = serializers.DictField(required=False, help_text="Percent by variant; in total 100.")
    remote_url = serializers.CharField(
        max_length=500,
        required=False,
        allow_blank=True,
        help_text="Another kmapp to query first: one of REMOTE_BASE_URLS, or empty.",
    )
    remote_key = serializers.CharField(
        max_length=500, required=False, write_only=True, help_text="Write-only."
    )
    remote_sources = serializers.ListField(
        child=serializers.ChoiceField(REMOTE_SOURCES), required=False
    )
    version = serializers.IntegerField(
        min_value=0, required=False, help_text="Returns 409 unless this is the current version."
    )
    reason = serializers.CharField(max_length=500, required=False, allow_blank=True)


class CallSettingsView(AgentView):
    """Return or change the settings of calls: assembly, retention and prices."""

    scopes = {"GET": Scope.CONTEXT_READ, "POST": Scope.ADMIN}

    @extend_schema(responses={200: CallSettings})
    def get(self, request: Request) -> Response:
        with acting(self.account):
            return Response(_load_settings(self.account))

    @extend_schema(request=SettingsInput, responses={200: CallSettings})
    def post(self, request: Request) -> Response:
        params = parse(SettingsInput, request)
        version, reason = params.pop("version", None), params.pop("reason", "")
        with acting(self.account):
            change_settings(self.account, params, actor=self.actor, version=version, reason=reason)
            return self.seal(Response(_load_settings(self.account)))


def _load_settings(account_id: UUID) -> CallSettings:
    settings = ContextSettings.objects.get_or_default(account_id)
    return serialize_as(
        CallSettings,
        settings,
        inputs_days=inputs_days(settings),
        effective_policy=settings.assembly_policy().body(),
        remote_key_set=bool(settings.remote_key),
    )
