"""Endpoints for search and for the ledger."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.response_types import serialize_as
from kmapp.api.serializers import Typed
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from kmapp.ledger.canonical import MAX_INTEGER
from kmapp.ledger.models import Commit
from kmapp.ledger.sealed_reads import Key, withhold_states
from kmapp.ledger.verify import verify_account
from memory.api import serialize
from memory.api.ledger_response_types import (
    CommitsAnswer,
    HistoryAnswer,
    LedgerCommit,
    VerifyAnswer,
)
from memory.api.lookup import filter_readable, refuse_mismatch
from memory.api.recall import build_search_request
from memory.api.request_serializers import OwnerIds, SearchInput
from memory.api.response_types import SearchAnswer
from memory.models import MemoryVersion
from memory.retrieval.access_counters import count_accesses
from memory.retrieval.search import search_memories

DEFAULT_HISTORY_LIMIT = 200  # versions in one answer


class SearchMemories(AgentView):
    """Search memories by words and meaning, best first."""

    scopes = {"POST": Scope.MEMORY_READ}

    @extend_schema(request=SearchInput, responses={200: SearchAnswer})
    def post(self, request: Request) -> Response:
        data = parse(SearchInput, request)
        query = build_search_request(self.account, data, self.variant)
        self.variant = query.variant
        result = search_memories(self.account, query)
        count_accesses(self.account, [hit.entry.pk for hit in result.hits])
        return Response(
            {
                "results": [
                    serialize.serialize_hit(hit, self.variant, explain=data["explain"])
                    for hit in result.hits
                ],
                **self.variant.versions(),
                "decisions": result.decisions,
            }
        )


class PageInput(Typed):
    """A page of a list."""

    after = serializers.IntegerField(
        min_value=0, max_value=MAX_INTEGER, default=0, help_text="The last number you have."
    )
    limit = serializers.IntegerField(min_value=1, max_value=DEFAULT_HISTORY_LIMIT, default=50)


class HistoryInput(OwnerIds, PageInput):
    """A page of versions, and the owner of the memory."""


class History(AgentView):
    """Return the versions of a memory, oldest first, each with its commit."""

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
                .order_by("version")[: page["limit"]]
            )
            if entry.verify_on_read:
                rows = withhold_states(self.account, Key.of(entry), rows)
            commits = Commit.objects.of(self.account).in_bulk([row.commit_id for row in rows])
            serialized = [
                serialize.serialize_version(row, commits.get(row.commit_id)) for row in rows
            ]
        return Response({"id": pk, "versions": serialized})


class Commits(AgentView):
    """Return the commits of the account, oldest first."""

    scopes = {"GET": Scope.MEMORY_READ}

    @extend_schema(parameters=[PageInput], responses={200: CommitsAnswer})
    def get(self, request: Request) -> Response:
        page = parse(PageInput, request)
        with acting(self.account):
            rows = Commit.objects.of(self.account).filter(seq__gt=page["after"]).order_by("seq")
            serialized = [serialize_as(LedgerCommit, row) for row in rows[: page["limit"]]]
        return Response({"commits": serialized})


class Verify(AgentView):
    """Verify the chain of the account: numbers, parents, hashes and the last checkpoint.

    A request checks at most 50,000 commits; of a longer chain, those after its last checkpoint.
    `after` is the number of the last commit before the checked ones, `commits` that of the last
    checked one, and `rest` the number of commits after it. `manage.py fsck` checks all commits.
    """

    scopes = {"GET": Scope.MEMORY_READ}
    bucket = "debug"

    @extend_schema(responses={200: VerifyAnswer})
    def get(self, request: Request) -> Response:
        checked = verify_account(self.account)
        output = serialize_as(
            VerifyAnswer,
            checked,
            problems=list(checked.problems),
            rest=checked.unread_commits,
        )
        return Response(output)
