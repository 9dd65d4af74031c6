"""Tool results over HTTP: kept when they are long, loaded when they are needed."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.archives import keep
from context.api import serialize
from context.api.request_serializers import (
    ArchivesInput,
    LoadCallInput,
    LoadInput,
    ResultInput,
    ResultsSearchInput,
    within_of,
)
from context.api.response_types import ArchivePage, ArchivesFound, Loaded, Processed
from context.archives.placeholders import placeholder
from context.archives.search import Question, findable, one, passages_about, search
from context.assembly.token_counts import compact
from context.models import ContextSettings
from context.models.archive_input import NewResult
from context.models.settings import LONGEST
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import TooLarge
from kmapp.text import tokens


class Results(AgentView):
    """Process a tool's result, or list those that are kept.

    A short result comes back as it is. A long one is kept whole, and its placeholder comes back.
    """

    scopes = {"GET": Scope.CONTEXT_READ, "POST": Scope.CONTEXT_WRITE}
    idempotent = True

    @extend_schema(parameters=[ArchivesInput], responses={200: ArchivePage})
    def get(self, request: Request) -> Response:
        asked = parse(ArchivesInput, request)
        with acting(self.account):
            within = within_of(asked)
            wide = not (within.conversation_id or within.thread_id)
            rows = findable(self.account, within, across=wide).briefly()
            rows = rows.order_by("-created_at", "-pk")
            if asked.get("before"):
                rows = rows.after(asked["before"])
            found = list(rows[: asked["limit"]])
        following = found[-1].pk if len(found) == asked["limit"] else None
        shown = [serialize.archive_output(row) for row in found]
        return Response({"results": shown, "next": following})

    @extend_schema(request=ResultInput, responses={200: Processed, 201: Processed})
    def post(self, request: Request) -> Response:
        asked = parse(ResultInput, request)
        said = asked["result"]
        draft = _draft(asked, said if isinstance(said, str) else compact(said))
        before = tokens.count(draft.text)
        with acting(self.account):
            settings = ContextSettings.objects.here(self.account)
            threshold = asked.get("threshold", settings.threshold_of(draft.tool_name))
            if len(draft.text) <= threshold:
                return self.seal(Response(_as_it_is(draft.text, before)))
            [row], fresh = keep(settings, self.actor, [draft])
            text = placeholder(row.told(), row.language)
            shown: Processed = {
                "archived": True,
                "content": text,
                "tokens": {"before": before, "after": tokens.count(text)},
                "archive": serialize.archive_output(row),
            }
            return self.seal(Response(shown, status=201 if fresh else 200))


def _as_it_is(text: str, size: int) -> Processed:
    return {
        "archived": False,
        "content": text,
        "tokens": {"before": size, "after": size},
        "archive": None,
    }


def _draft(asked: dict[str, object], text: str) -> NewResult:
    if len(text) > LONGEST:
        raise TooLarge(
            f"The result has {len(text):,} characters; send at most {LONGEST:,}.",
            issues=[{"path": "result", "message": "is too long"}],
        )
    given = {name: value for name, value in asked.items() if value is not None}
    for name in ("result", "threshold"):
        given.pop(name, None)
    return NewResult(text=text, **given)  # type: ignore[arg-type]


def _loaded(account_id: UUID, pk: UUID, asked: Mapping[str, Any]) -> Loaded:
    within = within_of(asked)
    if asked.get("query"):
        question = Question(account_id=account_id, text=asked["query"])
        told = passages_about(question, pk, within, asked["max_tokens"])
        return serialize.passages_output(told, question.decisions)
    with acting(account_id):
        row = one(account_id, pk, within)
    return serialize.range_output(row, asked.get("start"), asked.get("end"))


class OneResult(AgentView):
    """Load a tool result: all of it, a range of characters, or the passages about `query`."""

    scopes = {"GET": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(parameters=[LoadInput], responses={200: Loaded})
    def get(self, request: Request, pk: UUID) -> Response:
        return Response(_loaded(self.account, pk, parse(LoadInput, request)))


class LoadResult(AgentView):
    """What `load_tool_history` does when a model calls it: its arguments are the body."""

    scopes = {"POST": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(request=LoadCallInput, responses={200: Loaded})
    def post(self, request: Request) -> Response:
        asked = parse(LoadCallInput, request)
        return Response(_loaded(self.account, asked["uuid"], asked))


class SearchResults(AgentView):
    """Find tool results by words and by meaning: of a conversation, or across conversations."""

    scopes = {"POST": Scope.CONTEXT_READ}
    bucket = "recall"

    @extend_schema(request=ResultsSearchInput, responses={200: ArchivesFound})
    def post(self, request: Request) -> Response:
        asked = parse(ResultsSearchInput, request)
        found = search(
            self.account,
            asked["query"],
            within_of(asked),
            across=asked["across"],
            limit=asked["limit"],
        )
        return Response(
            {
                "results": [serialize.hit_output(hit) for hit in found.hits],
                "decisions": list(found.decisions),
            }
        )
