"""API of tool results: archive, load and search them, and prepare messages with placeholders."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from context.actions.archive_and_load_results import prepare_messages
from context.actions.archives import store_archives
from context.actions.insert_placeholders import Preparation, restore_placeholders
from context.api import serialize
from context.api.agent_tools import build_load_tool
from context.api.request_serializers import (
    ArchivesInput,
    LanguageInput,
    LoadCallInput,
    LoadInput,
    MessagesInput,
    PrepareInput,
    ResultInput,
    ResultsSearchInput,
    build_scope,
)
from context.api.response_types import (
    ArchivePage,
    ArchivesFound,
    Loaded,
    PreparedAnswer,
    Processed,
    ToolAnswer,
)
from context.archives.history_tool_prompts import PARAGRAPHS
from context.archives.placeholders import render_placeholder
from context.archives.retrieval import (
    EmbeddedQuery,
    load_archive,
    load_passages,
    search_archives,
    searchable_archives,
)
from context.assembly.token_counts import encode_json
from context.models import ContextSettings
from context.models.archives import NewResult
from context.models.settings import MAX_LENGTH
from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import TooLarge
from kmapp.text import token_counter


class Results(AgentView):
    """Archive a tool result, or list archived ones.

    A short result is returned unchanged. A long one is stored and its placeholder is returned.
    """

    scopes = {"GET": Scope.CONTEXT_READ, "POST": Scope.CONTEXT_WRITE}

    @extend_schema(parameters=[ArchivesInput], responses={200: ArchivePage})
    def get(self, request: Request) -> Response:
        params = parse(ArchivesInput, request)
        with acting(self.account):
            scope = build_scope(params)
            across = not (scope.conversation_id or scope.thread_id)
            rows = searchable_archives(self.account, scope, across=across).briefly()
            rows = rows.order_by("-created_at", "-pk")
            if params.get("before"):
                rows = rows.after(params["before"], account_id=self.account)
            page = list(rows[: params["limit"] + 1])
        next_id = page[-2].pk if len(page) > params["limit"] else None
        body = [serialize.serialize_archive(row) for row in page[: params["limit"]]]
        return Response({"results": body, "next": next_id})

    @extend_schema(request=ResultInput, responses={200: Processed, 201: Processed})
    def post(self, request: Request) -> Response:
        params = parse(ResultInput, request)
        result = params["result"]
        new_result = _parse_result(
            params, result if isinstance(result, str) else encode_json(result)
        )
        token_count = token_counter.count_tokens(new_result.text)
        with acting(self.account):
            settings = ContextSettings.objects.get_or_default(self.account)
            threshold = params.get("threshold", settings.threshold_of(new_result.tool_name))
            body: Processed = {
                "archived": False,
                "content": new_result.text,
                "tokens": {"before": token_count, "after": token_count},
                "archive": None,
            }
            if len(new_result.text) <= threshold:
                # Not stored for retries: an erasure finds responses by the ids in them.
                return self.release_key(Response(body))
            [row], new_ids = store_archives(settings, self.actor, [new_result])
            text = render_placeholder(row.to_placeholder(), row.language)
            body = {
                "archived": True,
                "content": text,
                "tokens": {"before": token_count, "after": token_counter.count_tokens(text)},
                "archive": serialize.serialize_archive(row),
            }
            return self.seal(Response(body, status=201 if new_ids else 200))


def _parse_result(params: dict[str, object], text: str) -> NewResult:
    if len(text) > MAX_LENGTH:
        raise TooLarge(
            f"The result has {len(text):,} characters; send at most {MAX_LENGTH:,}.",
            issues=[{"path": "result", "message": "is too long"}],
        )
    fields = {
        name: value
        for name, value in params.items()
        if value is not None and name not in ("result", "threshold")
    }
    return NewResult(text=text, **fields)  # type: ignore[arg-type]


def _load(account_id: UUID, pk: UUID, params: Mapping[str, Any]) -> Loaded:
    scope = build_scope(params)
    if params.get("query"):
        question = EmbeddedQuery(account_id=account_id, text=params["query"])
        loaded = load_passages(question, pk, scope, params["max_tokens"])
        return serialize.serialize_passages(loaded, question.decisions)
    with acting(account_id):
        row = load_archive(account_id, pk, scope)
    return serialize.serialize_range(row, params.get("start"), params.get("end"))


class OneResult(AgentView):
    """Load a tool result: all of it, a range of characters, or the passages about `query`."""

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(parameters=[LoadInput], responses={200: Loaded})
    def get(self, request: Request, pk: UUID) -> Response:
        return Response(_load(self.account, pk, parse(LoadInput, request)))


class LoadResult(AgentView):
    """Run `load_tool_history` with the arguments of the model's call as the body."""

    scopes = {"POST": Scope.CONTEXT_READ}

    @extend_schema(request=LoadCallInput, responses={200: Loaded})
    def post(self, request: Request) -> Response:
        params = parse(LoadCallInput, request)
        return Response(_load(self.account, params["uuid"], params))


class SearchResults(AgentView):
    """Search tool results by words and by meaning, in one conversation or across conversations."""

    scopes = {"POST": Scope.CONTEXT_READ}

    @extend_schema(request=ResultsSearchInput, responses={200: ArchivesFound})
    def post(self, request: Request) -> Response:
        params = parse(ResultsSearchInput, request)
        options = {name: params[name] for name in ("across", "limit")}
        matches = search_archives(self.account, params["query"], build_scope(params), **options)
        results = [serialize.serialize_hit(hit) for hit in matches.hits]
        return Response({"results": results, "decisions": list(matches.decisions)})


class Prepare(AgentView):
    """Replace long tool results by placeholders, and load the relevant ones.

    Results of the last `keep_turns` turns remain. The response lists what was loaded and why.
    """

    scopes = {"POST": Scope.CONTEXT_WRITE}

    @extend_schema(request=PrepareInput, responses={200: PreparedAnswer})
    def post(self, request: Request) -> Response:
        params = parse(PrepareInput, request)
        prepared = prepare_messages(
            self.account,
            self.actor,
            params["messages"],
            Preparation(
                within=build_scope(params),
                load_uuids=params.get("load_uuids", ()),
                max_tokens=params.get("max_tokens"),
                keep_turns=params["keep_turns"],
                load=params["load"],
                load_limit=params["load_limit"],
                **{name: params.get(name) or "" for name in ("agent_id", "query", "language")},
            ),
        )
        response = Response(serialize.serialize_prepared(prepared, params["messages"]))
        with acting(self.account):
            # Not stored for retries, which prepare the messages again: an erasure finds responses
            # by the ids in them, and no id stands for the texts of the messages.
            return self.release_key(response)


class Restore(AgentView):
    """Replace loaded results by their placeholders again, for the next turn."""

    scopes = {"POST": Scope.CONTEXT_READ}

    @extend_schema(request=MessagesInput, responses={200: PreparedAnswer})
    def post(self, request: Request) -> Response:
        params = parse(MessagesInput, request)
        with acting(self.account):
            prepared = restore_placeholders(self.account, params["messages"], build_scope(params))
        return Response(serialize.serialize_prepared(prepared, params["messages"]))


class LoadTool(AgentView):
    """Return the tool `load_tool_history` and the paragraph for the system prompt."""

    scopes = {"GET": Scope.CONTEXT_READ}

    @extend_schema(parameters=[LanguageInput], responses={200: ToolAnswer})
    def get(self, request: Request) -> Response:
        params = parse(LanguageInput, request)
        with acting(self.account):
            settings = ContextSettings.objects.get_or_default(self.account)
        language = params.get("language") or settings.language
        tool = build_load_tool(language).schema()
        return Response({"tool": tool, "system": PARAGRAPHS[language]})
