"""Sources and documents over HTTP: ingest, list, remove."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied, NotFound
from knowledge.actions.erasure import erase_document, erase_source
from knowledge.actions.ingest import IngestResult, ingest
from knowledge.actions.page_fetches import refuse_to_fetch
from knowledge.actions.prepare_delivery import prepare
from knowledge.actions.quotas import refuse_too_much
from knowledge.actions.sources import NewSource, ensure_source, refuse_lore
from knowledge.api import serialize
from knowledge.api.request_serializers import IngestInput, SourceInput, SourcesInput, delivery_of
from knowledge.api.response_types import (
    DocumentAnswer,
    ErasedAnswer,
    IngestAnswer,
    SourceAnswer,
    SourcesAnswer,
)
from knowledge.models import KnowledgeDocument, KnowledgeSource
from knowledge.retrieval.citations import gone


class Ingest(AgentView):
    """Deliver files of one source. What is known by its digest is not read again.

    Without the scope knowledge:trust the source is, and stays, untrusted.

    Text is searchable when this answers; files that must be parsed are read by workers, pages
    with `fetch` are fetched by them, and `event_ids` say how far they are. An edited file keeps
    the chunks that stayed.
    """

    scopes = {"POST": Scope.KNOWLEDGE_WRITE}
    idempotent = True

    @extend_schema(request=IngestInput, responses={200: IngestAnswer, 201: IngestAnswer})
    def post(self, request: Request) -> Response:
        data = parse(IngestInput, request)
        deliveries = [delivery_of(each) for each in data["documents"]]
        refuse_to_fetch(deliveries)
        with acting(self.account):
            source = _source(self, NewSource(**data["source"]))
            refuse_lore(source)
            refuse_too_much(self.account, deliveries)
        prepared = prepare(source, deliveries)
        with acting(self.account):
            remove = list(data["remove"])
            if data["complete"]:
                remove += _others(source, {each.ref for each in deliveries})
            result = ingest(source, self.actor, prepared, remove=remove)
            output = _serialize_result(source, result)
            return self.seal(Response(output, status=201 if result.added else 200))


def _source(view: AgentView, source_input: NewSource) -> KnowledgeSource:
    may_trust = view.request.auth.may(Scope.KNOWLEDGE_TRUST)
    return ensure_source(view.account, view.actor, source_input, may_trust=may_trust)


def _refuse_trusted(view: AgentView, sources: QuerySet[KnowledgeSource]) -> None:
    """Refuse erasing from trusted sources to keys that may not deliver to them."""
    trusted = sources.exclude(trust=KnowledgeSource.Trust.UNTRUSTED)
    if not view.request.auth.may(Scope.KNOWLEDGE_TRUST) and trusted.exists():
        raise Denied(
            "Erasing a trusted source requires the scope knowledge:trust. Use such a key, or "
            "erase it in the browser.",
            code="missing_scope",
        )


def _others(source: KnowledgeSource, refs: set[str]) -> list[str]:
    rows = KnowledgeDocument.objects.of(source.account_id).present().filter(source=source)
    return [ref for ref in rows.values_list("ref", flat=True) if ref not in refs]


def _serialize_result(source: KnowledgeSource, result: IngestResult) -> IngestAnswer:
    return {
        "source": serialize.source_output(_counted(source.account_id, source.pk)),
        "documents": [serialize.document_output(each) for each in result.documents],
        "added": result.added,
        "changed": result.changed,
        "unchanged": result.unchanged,
        "removed": result.removed,
        "chunks": {
            "kept": result.chunks.unchanged,
            "made": result.chunks.created,
            "retired": result.chunks.retired,
        },
        "event_ids": result.events,
        "commit_id": result.commit_id,
    }


def _counted(account_id: UUID, pk: UUID) -> KnowledgeSource:
    source = KnowledgeSource.objects.of(account_id).counted().filter(pk=pk).first()
    if source is None:
        raise gone(account_id, pk) or NotFound("Source not found.")
    return source


class Sources(AgentView):
    """The account's sources; a new one, or another word on a known one."""

    scopes = {"GET": Scope.KNOWLEDGE_READ, "POST": Scope.KNOWLEDGE_WRITE}
    idempotent = True

    @extend_schema(parameters=[SourcesInput], responses={200: SourcesAnswer})
    def get(self, request: Request) -> Response:
        data = parse(SourcesInput, request)
        with acting(self.account):
            rows = KnowledgeSource.objects.of(self.account).counted().by_name()
            if data.get("after"):
                rows = rows.after(*data["after"])
            rows_plus_one = list(rows[: data["limit"] + 1])
        output = rows_plus_one[: data["limit"]]
        more = f"{output[-1].pk}/{output[-1].name}" if len(rows_plus_one) > len(output) else None
        return Response(
            {"sources": [serialize.source_output(each) for each in output], "next": more}
        )

    @extend_schema(request=SourceInput, responses={200: SourceAnswer, 201: SourceAnswer})
    def post(self, request: Request) -> Response:
        source_input = NewSource(**parse(SourceInput, request))
        with acting(self.account):
            source = _source(self, source_input)
            output = serialize.source_output(_counted(self.account, source.pk))
            return self.seal(Response(output, status=201 if source.fresh else 200))


class Source(AgentView):
    """One source. Deleting it erases for good all that came from it; citations answer 410."""

    scopes = {"GET": Scope.KNOWLEDGE_READ, "DELETE": Scope.KNOWLEDGE_WRITE}

    @extend_schema(responses={200: SourceAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            return Response(serialize.source_output(_counted(self.account, pk)))

    @extend_schema(responses={200: ErasedAnswer})
    def delete(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            _refuse_trusted(self, KnowledgeSource.objects.of(self.account).filter(pk=pk))
            commit = erase_source(self.account, pk, self.actor)
        return Response({"id": pk, "commit_id": commit.id})


class Document(AgentView):
    """One document. Deleting it erases all of its texts for good; citations answer 410."""

    scopes = {"GET": Scope.KNOWLEDGE_READ, "DELETE": Scope.KNOWLEDGE_WRITE}

    @extend_schema(responses={200: DocumentAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            document = KnowledgeDocument.objects.of(self.account).filter(pk=pk).first()
            if document is None:
                raise gone(self.account, pk) or NotFound("Document not found.")
            return Response(serialize.document_output(document))

    @extend_schema(responses={200: ErasedAnswer})
    def delete(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            _refuse_trusted(self, KnowledgeSource.objects.of(self.account).filter(documents=pk))
            commit = erase_document(self.account, pk, self.actor)
        return Response({"id": pk, "commit_id": commit.id})
