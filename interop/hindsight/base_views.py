"""Base classes of the endpoints of one bank."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

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
MAX_BANK_ID = 200


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
        self.profile_of(bank).ensure(build_profile_memory(bank, {}))


def build_profile_memory(bank: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    text = settings.get("mission") or settings.get("background") or f"Memory bank {bank}."
    return {"text": text, "title": settings.get("name") or bank, "kind": PROFILE_KIND,
            "metadata": dict(settings)}  # fmt: skip


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
