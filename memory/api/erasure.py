"""Endpoint for erasing memories: count first, then confirm."""

from typing import Any

from django.conf import settings
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.erasure_registry import prepare_erasure
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import MAX_ID_LENGTH, Exact, OneOrMore, any_of
from kmapp.api.views import AgentView, parse
from kmapp.errors import Gone
from kmapp.ledger.models import Commit
from memory.actions import erasure
from memory.actions.confirmation_tickets import TICKET_LIFETIME
from memory.api.response_types import Erasure, ErasureCount
from memory.api.shared_request_serializers import OwnerIds
from memory.models import EntryQuerySet, ErasedEntry, MemoryEntry
from memory.models.entries import OWNER_IDS
from memory.models.entry_input import derive_entry_id

MAX_NAMED_IDS = 1_000
OTHER_FIELDS = {"user_id", "confirm_token", "reason"}
ON_DISK_NOTE = (
    "Queries no longer find it. Database files may still contain it until an operator "
    f"runs {settings.COMMAND} scrub; existing backups and exports are unchanged."
)


class EraseInput(Exact, OwnerIds):
    """Memories to erase, by ID, client ID, user, agent, app or run.

    All given fields must match. Without `confirm_token` the memories are only counted.
    """

    aliases = {**OwnerIds.aliases, "id": "ids", "memory_ids": "ids", "client_id": "client_ids"}

    together = any_of("ids", "client_ids", *OWNER_IDS)

    ids = OneOrMore(
        child=serializers.UUIDField(), required=False, allow_empty=False, max_length=MAX_NAMED_IDS
    )
    client_ids = OneOrMore(
        child=serializers.CharField(max_length=MAX_ID_LENGTH),
        required=False,
        allow_empty=False,
        max_length=MAX_NAMED_IDS,
    )
    written_before = serializers.DateTimeField(required=False)
    confirm_token = serializers.CharField(
        max_length=1000, required=False, help_text="From the count; it is good for ten minutes."
    )
    reason = serializers.CharField(max_length=1000, required=False, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require a selection, so that omitting a field cannot erase an account."""
        if not any(attrs.get(name) for name in ("ids", "client_ids", *OWNER_IDS)):
            raise serializers.ValidationError(
                {
                    "ids": "Send at least one of ids, client_ids, user_id, agent_id, "
                    "app_id or run_id."
                }
            )
        return attrs


class Erase(AgentView):
    """Erase memories permanently. The first call counts them and returns the token to confirm.

    Erasing the last memory of a user also erases everything else with that `user_id`: tool results,
    recorded calls and their parts, tool decisions, conversations, and the saved views, searches and
    exports that name the user. A request with nothing but a `user_id` erases all of these, even if
    the user has no memories. The ledger still proves that the memories existed, but not what they
    contained.
    """

    scopes = {"POST": Scope.MEMORY_ERASE}

    @extend_schema(request=EraseInput, responses={200: Erasure | ErasureCount})
    def post(self, request: Request) -> Response:
        data = parse(EraseInput, request)
        if "confirm_token" in data:
            prepare_erasure(self.account)
        with acting(self.account):
            rows, person = self._filter_rows(data), _find_person(data)
            if "confirm_token" not in data:
                return Response(self._serialize_count(rows, person))
            done = erasure.erase_entries(
                self.account,
                rows,
                self.actor,
                ticket=data["confirm_token"],
                reason=data.get("reason", ""),
                person=person,
            )
            return self.seal(Response(self._serialize_erasure(done)))

    def _filter_rows(self, data: dict[str, Any]) -> EntryQuerySet:
        rows = MemoryEntry.objects.of(self.account)
        if data.get("ids"):
            rows = rows.filter(pk__in=data["ids"])
        if data.get("client_ids"):
            scope = data.get("scope") or ""
            rows = rows.filter(client_id__in=data["client_ids"], scope=scope)
        elif data.get("scope"):
            rows = rows.filter(scope=data["scope"])
        rows = rows.filter(**{name: data[name] for name in OWNER_IDS if data.get(name)})
        if data.get("written_before"):
            rows = rows.filter(created_at__lt=data["written_before"])
        if not rows.exists():
            self._refuse_erased(data)
        return rows

    def _refuse_erased(self, data: dict[str, Any]) -> None:
        scope = data.get("scope") or ""
        ids = {*data.get("ids", ())}
        ids |= {derive_entry_id(self.account, scope, name) for name in data.get("client_ids", ())}
        if ErasedEntry.objects.of(self.account).filter(pk__in=ids).exists():
            raise Gone("Nothing is left of them: they were erased.")

    def _serialize_count(self, rows: EntryQuerySet, person: str) -> ErasureCount:
        preview = erasure.preview_erasure(self.account, rows, self.actor, person=person)
        return {
            "erased": False,
            "count": preview.memories,
            "goes": {
                "versions": preview.versions,
                "edges": preview.edges,
                "vectors": preview.vectors,
                "stored_answers": preview.stored_responses,
                "inputs_and_reasons": preview.notes,
                "kept_elsewhere": preview.personal_records,
            },
            "confirm_token": preview.ticket,
            "expires_in_seconds": int(TICKET_LIFETIME.total_seconds()),
        }

    def _serialize_erasure(self, result: erasure.ErasureResult) -> Erasure:
        commit = Commit.objects.of(self.account).get(pk=result.commit_id)
        return {
            "erased": True,
            "count": result.memories,
            "commit_id": commit.pk,
            "commit_hash": commit.commit_hash,
            "note": ON_DISK_NOTE,
        }


def _find_person(data: dict[str, Any]) -> str:
    """Return the person whose data is erased, if nothing else narrows the request."""
    narrowed = any(value for name, value in data.items() if name not in OTHER_FIELDS)
    return "" if narrowed else str(data.get("user_id") or "")
