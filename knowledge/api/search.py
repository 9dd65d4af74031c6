"""API of knowledge search and of citations."""

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
from knowledge.retrieval.citations import CitedSpan, load_cited_text
from knowledge.retrieval.search import KnowledgeSearch, search
from knowledge.retrieval.verify_chunks import withhold_chunks

SPAN_FIELDS = ("start", "end", "line_start", "line_end")


class SearchKnowledge(AgentView):
    """Find passages of documents by words and by meaning, best first, each with its citation."""

    scopes = {"POST": Scope.KNOWLEDGE_READ}

    @extend_schema(request=KnowledgeSearchInput, responses={200: KnowledgeSearchAnswer})
    def post(self, request: Request) -> Response:
        data = parse(KnowledgeSearchInput, request)
        explain = data.pop("explain")
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        results = search(self.account, KnowledgeSearch(**{**data, **lists}, variant=self.variant))
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

    @extend_schema(request=GetInput, responses={200: QuotedAnswer})
    def post(self, request: Request) -> Response:
        data = parse(GetInput, request)
        with acting(self.account):
            if "span" in data:
                place = data["span"]
            elif "citation" in data:
                locator = data["citation"]["locator"]
                span = {name: locator.get(name) for name in SPAN_FIELDS}
                sha256 = locator.get("sha", "")
                place = CitedSpan(document_id=data["citation"]["ref"], sha256=sha256, **span)
            else:
                place = _locate_chunk(self.account, data["id"])
            return Response(serialize.serialize_quoted(load_cited_text(self.account, place)))


def _locate_chunk(account_id: UUID, pk: UUID) -> CitedSpan:
    rows = KnowledgeChunk.objects.of(account_id).select_related("text_row", "document__source")
    rows = rows.defer("text_row__text").with_verify_on_read(account_id)
    chunk = rows.filter(pk=pk).first()
    if chunk is None:
        raise NotFound(
            "Chunk not found. Send the whole citation, which stays valid after chunking changes."
        )
    if not withhold_chunks(account_id, [chunk]).chunks:
        raise NotFound("This chunk differs from the ledger and is withheld.", code="withheld")
    sha256 = chunk.text_row.sha256
    return CitedSpan(document_id=chunk.document_id, sha256=sha256, start=chunk.start, end=chunk.end)
