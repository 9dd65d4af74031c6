"""Search of documents and resolution of citations."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from knowledge.api import serialize
from knowledge.api.request_serializers import GetInput, KnowledgeSearchInput
from knowledge.api.response_types import KnowledgeSearchAnswer, QuotedAnswer
from knowledge.models import KnowledgeChunk
from knowledge.retrieval.citations import Place, quoted
from knowledge.retrieval.search import Search, search


class SearchKnowledge(AgentView):
    """Find passages of documents by words and by meaning, best first, each with its citation."""

    scopes = {"POST": Scope.KNOWLEDGE_READ}
    bucket = "recall"

    @extend_schema(request=KnowledgeSearchInput, responses={200: KnowledgeSearchAnswer})
    def post(self, request: Request) -> Response:
        data = parse(KnowledgeSearchInput, request)
        explain = data.pop("explain")
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        results = search(self.account, Search(**{**data, **lists}, variant=self.variant))
        return Response(
            {
                "results": [
                    serialize.serialize_snippet(each, self.variant, explain=explain)
                    for each in results.snippets
                ],
                **self.variant.versions(),
                "decisions": results.decisions,
            }
        )


class GetKnowledge(AgentView):
    """Read the text that a citation names, exactly as it was cited."""

    scopes = {"POST": Scope.KNOWLEDGE_READ}
    bucket = "recall"

    @extend_schema(request=GetInput, responses={200: QuotedAnswer})
    def post(self, request: Request) -> Response:
        data = parse(GetInput, request)
        with acting(self.account):
            if "citation" in data:
                place = _locate_citation(**data["citation"])
            else:
                place = _locate_chunk(self.account, data["id"])
            return Response(serialize.serialize_quoted(quoted(self.account, place)))


def _locate_citation(ref: UUID, locator: dict[str, Any]) -> Place:
    span = {name: locator.get(name) for name in ("start", "end", "line_start", "line_end")}
    return Place(document_id=ref, sha256=locator.get("sha", ""), **span)


def _locate_chunk(account_id: UUID, pk: UUID) -> Place:
    rows = KnowledgeChunk.objects.of(account_id).select_related("text_row")
    chunk = rows.defer("text", "text_row__text").filter(pk=pk).first()
    if chunk is None:
        raise NotFound(
            "Chunk not found. Send the whole citation, which stays valid after chunking changes."
        )
    sha256 = chunk.text_row.sha256
    return Place(document_id=chunk.document_id, sha256=sha256, start=chunk.start, end=chunk.end)
