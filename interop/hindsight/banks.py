"""Banks of Hindsight: a bank is an agent, its profile is a memory of the agent about itself."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

import kmapp
from interop.field_validation import field_error
from interop.key_value_memory import KeyedMemory
from interop.protocol_view import ProtocolView
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView
from kmapp.errors import NotFound
from memory.api.list_entries import filter_listable
from memory.models import EntryQuerySet, MemoryEntry

NAMESPACE = "hindsight"
PROFILE_KIND = MemoryEntry.Kind.SELF_MODEL.value
TRAITS = ("skepticism", "literalism", "empathy")
DEFAULT_TRAIT = 3
MAX_BANK_ID = 200
FEATURES = {
    **dict.fromkeys(("observations", "bank_config_api", "bank_llm_health", "llm_trace"), False),
    **dict.fromkeys(("file_upload_api", "document_export_api", "document_import_api"), False),
    **dict.fromkeys(("mcp", "worker", "audit_log", "store_document_text"), True),
}


@require_safe
def version(request: HttpRequest) -> JsonResponse:
    """Return the version and the features; no key is needed."""
    return JsonResponse({"api_version": kmapp.__version__, "features": FEATURES})


def check_bank_id(bank: str) -> None:
    if len(bank) > MAX_BANK_ID or "\0" in bank:
        raise field_error("bank_id", f"must be a text of at most {MAX_BANK_ID} characters")


class BankView(ProtocolView):
    """Base class of the endpoints of one bank."""

    def profile_of(self, bank: str) -> KeyedMemory:
        check_bank_id(bank)
        return KeyedMemory(self, bank, NAMESPACE, ("bank", bank))

    def require_bank(self, bank: str) -> Mapping[str, Any]:
        """Return the profile. Raise NotFound if there is no such bank."""
        profile = self.profile_of(bank).find()
        if profile is None:
            raise NotFound("Bank not found.")
        return profile

    def ensure_bank(self, bank: str) -> None:
        """Create the bank with a default profile if it does not exist."""
        profile = self.profile_of(bank)
        if profile.find() is None:
            profile.put(_profile_memory(bank, {}))


class Bank(BankView):
    """Create, change or delete a bank."""

    def put(self, request: HttpRequest, bank: str) -> Any:
        profile = self.profile_of(bank)
        current = profile.find()
        settings = {**(current["metadata"] if current else {}), **_settings(self.body())}
        profile.put(_profile_memory(bank, settings))
        return _profile_output(bank, settings)

    patch = put

    def delete(self, request: HttpRequest, bank: str) -> Any:
        self.require_bank(bank)
        forgotten = self.forget_owned({"agent_id": bank})
        return {
            "success": True,
            "message": "The memories of the bank are forgotten.",
            "deleted_count": forgotten["count"],
        }


class BankProfile(BankView):
    """Return the profile of a bank."""

    def get(self, request: HttpRequest, bank: str) -> Any:
        return _profile_output(bank, self.require_bank(bank)["metadata"])


def _settings(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that a request names."""
    names = ("name", "mission", "background", "retain_mission", "reflect_mission")
    settings = {name: data[name] for name in names if isinstance(data.get(name), str)}
    traits = data.get("disposition") if isinstance(data.get("disposition"), Mapping) else {}
    for trait in TRAITS:
        value = data.get(f"disposition_{trait}") or (traits or {}).get(trait)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 5:  # noqa: PLR2004
            raise field_error(f"disposition.{trait}", "must be a number from 1 to 5")
        settings[trait] = value
    return settings


def _profile_memory(bank: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    text = settings.get("mission") or settings.get("background") or f"Memory bank {bank}."
    return {"text": text, "title": settings.get("name") or bank, "kind": PROFILE_KIND,
            "metadata": dict(settings)}  # fmt: skip


def _profile_output(bank: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "bank_id": bank,
        "name": settings.get("name") or bank,
        "disposition": {trait: settings.get(trait, DEFAULT_TRAIT) for trait in TRAITS},
        "mission": settings.get("mission", ""),
        "background": settings.get("background"),
    }


class PageQuery(Typed):
    """A page of a list, in the query of the URL."""

    limit = serializers.IntegerField(min_value=0, max_value=1000, default=100)
    offset = serializers.IntegerField(min_value=0, max_value=1_000_000, default=0)


class BankReport(AgentView):
    """Base class of endpoints that read the memories of a bank from the database."""

    scopes = {"GET": Scope.MEMORY_READ}

    def get(self, request: Request, bank: str, **parts: str) -> Response:
        check_bank_id(bank)
        with acting(self.account):
            entries = filter_listable(self.request.auth, {"agent_id": bank}, None).filter(
                agent_id=bank, status=MemoryEntry.Status.ACTIVE
            )
            if not entries.exists():
                raise NotFound("Bank not found.")
            return Response(self.report(entries.exclude(kind=PROFILE_KIND), bank, **parts))

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        """Return the response for the memories of the bank."""
        raise NotImplementedError

    def read_page(self) -> tuple[int, int]:
        """Return limit and offset of the query."""
        query = PageQuery(data=self.request.query_params)
        query.is_valid(raise_exception=True)
        return query.validated_data["limit"], query.validated_data["offset"]
