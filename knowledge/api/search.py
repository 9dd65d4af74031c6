"""API of knowledge search, citations and lorebooks."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.response_types import serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import NotFound
from knowledge.api import serialize
from knowledge.api.request_serializers import GetInput, KnowledgeSearchInput, LoreInput
from knowledge.api.response_types import (
    KnowledgeSearchAnswer,
    LoreAnswer,
    LoreFired,
    LoreSilent,
    LoreSnippet,
    QuotedAnswer,
)
from knowledge.lore.account_lorebooks import evaluate_entries, load_entries
from knowledge.lore.lorebook_evaluation import TriggeredEntry, TriggerSettings
from knowledge.models import KnowledgeChunk, LorebookEntry
from knowledge.retrieval.citations import CitedSpan, load_cited_text
from knowledge.retrieval.sealed_chunks import withhold_chunks
from knowledge.retrieval.search import KnowledgeSearch, search

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


class EvaluateLore(AgentView):
    """Return the lorebook entries that a conversation triggers, within a token budget.

    Nothing is stored: send the `state` of the previous response, which sticky entries and
    cooldowns depend on.
    """

    scopes = {"POST": Scope.KNOWLEDGE_READ}

    @extend_schema(request=LoreInput, responses={200: LoreAnswer})
    def post(self, request: Request) -> Response:
        data = parse(LoreInput, request)
        limits = ("budget", "scan_depth", "max_recursion", "scope")
        rules = TriggerSettings(**{name: data[name] for name in limits})
        with acting(self.account):
            rows = load_entries(self.account, data["lorebooks"])
        outcome = evaluate_entries(rows, data["messages"], rules, data["state"])
        by_id = {str(row.pk): row for row in rows}
        answer: LoreAnswer = {
            "results": [
                _serialize_matching_entry(by_id[each.entry.id]) for each in outcome.included
            ],
            "build_report": {
                "fired": [
                    _serialize_fired(by_id[each.entry.id], each) for each in outcome.triggered
                ],
                "silent": [
                    serialize_as(LoreSilent, by_id[each.entry.id], reason=each.reason)
                    for each in outcome.suppressed
                ],
                "tokens": outcome.tokens,
                "budget": rules.budget,
            },
            "state": {pk: turn for pk, turn in outcome.state.items() if pk in by_id},
        }
        return Response(answer)


def _serialize_matching_entry(row: LorebookEntry) -> LoreSnippet:
    return {
        "text": row.content,
        "score": 1.0,
        "tags": ["knowledge", "lorebook"],
        "trust": row.source.trust,
        "citations": [
            {"kind": "lorebook_entry", "ref": row.pk, "title": row.name, "commit_id": row.commit_id}
        ],
    }


def _serialize_fired(row: LorebookEntry, fired: TriggeredEntry) -> LoreFired:
    by = UUID(fired.by) if fired.by else None
    return serialize_as(LoreFired, fired, id=row.pk, name=row.name, lorebook=row.source.name, by=by)
