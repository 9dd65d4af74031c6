"""Endpoints for the history of a memory and for the ledger."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.serializers import Typed
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from kmapp.ledger.canonical import MAX_INTEGER
from kmapp.ledger.models import Commit
from kmapp.ledger.read_verification import ObjectKey, withhold_states
from kmapp.ledger.verify import verify_account
from memory.api import serialize
from memory.api.access import filter_readable, refuse_mismatch
from memory.api.ledger_response_types import (
    CommitsAnswer,
    HistoryAnswer,
    LedgerCommit,
    VerifyAnswer,
)
from memory.api.page_byte_limit import fit_page
from memory.api.shared_request_serializers import OwnerIds
from memory.models import MemoryVersion

DEFAULT_HISTORY_LIMIT = 200  # versions in one answer


class PageInput(Typed):
    """A page of a list."""

    after = serializers.IntegerField(
        min_value=0, max_value=MAX_INTEGER, default=0, help_text="The last number you have."
    )
    limit = serializers.IntegerField(min_value=1, max_value=DEFAULT_HISTORY_LIMIT, default=50)


class HistoryInput(OwnerIds, PageInput):
    """A page of versions, and the owner of the memory."""


class History(AgentView):
    """Return the versions of a memory, oldest first, each with its commit.

    A page may have fewer versions than the limit, if they are very long.
    """

    scopes = {"GET": Scope.MEMORY_READ}

    @extend_schema(parameters=[HistoryInput], responses={200: HistoryAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        page = parse(HistoryInput, request)
        with acting(self.account):
            readable = filter_readable(self.request.auth, page).with_verify_on_read(self.account)
            entry = readable.filter(pk=pk).first()
            if entry is None:
                raise NotFound("Memory not found.")
            refuse_mismatch(self.account, entry)
            rows = list(
                MemoryVersion.objects.of(self.account)
                .filter(entry_id=pk, version__gt=page["after"])
                .order_by("version")[: page["limit"] + 1]
            )
            versions = fit_page(rows[: page["limit"]], lambda row: row.state)
            following = versions[-1].version if len(rows) > len(versions) else None
            if entry.verify_on_read:
                versions = withhold_states(self.account, ObjectKey.of(entry), versions)
            commits = Commit.objects.of(self.account).in_bulk([row.commit_id for row in versions])
            serialized = [
                serialize.serialize_version(row, commits.get(row.commit_id)) for row in versions
            ]
        return Response({"id": pk, "versions": serialized, "next": following})


class Commits(AgentView):
    """Return the commits of the account, oldest first."""

    scopes = {"GET": Scope.MEMORY_READ}

    @extend_schema(parameters=[PageInput], responses={200: CommitsAnswer})
    def get(self, request: Request) -> Response:
        page = parse(PageInput, request)
        with acting(self.account):
            later = Commit.objects.of(self.account).filter(seq__gt=page["after"]).order_by("seq")
            rows = list(later[: page["limit"] + 1])
            commits = rows[: page["limit"]]
            serialized = [serialize_as(LedgerCommit, row) for row in commits]
        following = commits[-1].seq if len(rows) > len(commits) else None
        return Response({"commits": serialized, "next": following})


class Verify(AgentView):
    """Verify the chain of the account: numbers, parents, hashes and the last checkpoint.

    A request checks at most 50,000 commits and about 64 MB of stored changes: of a longer chain
    the newest, or the first after its last checkpoint if not all of those fit.
    `after` is the number of the last commit before the checked ones, `commits` that of the last
    checked one, and `rest` the number of commits after it. `manage.py fsck` checks all commits.
    """

    scopes = {"GET": Scope.MEMORY_READ}
    bucket = "debug"

    @extend_schema(responses={200: VerifyAnswer})
    def get(self, request: Request) -> Response:
        checked = verify_account(self.account)
        output = serialize_as(
            VerifyAnswer, checked, problems=list(checked.problems), rest=checked.unread_commits
        )
        return Response(output)
