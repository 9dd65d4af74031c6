"""API of sources and documents: ingest, list and erase."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.scopes import Scope
from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.api.views import AgentView, parse
from kmapp.errors import Denied, Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from knowledge.actions.erasure import erase_document, erase_source
from knowledge.actions.ingest import IngestResult, ingest_deliveries, list_undelivered
from knowledge.actions.page_fetches import check_addresses
from knowledge.actions.prepare_delivery import check_quota, prepare_deliveries
from knowledge.actions.sources import NewSource, check_source, ensure_source
from knowledge.api import serialize
from knowledge.api.request_serializers import IngestInput, SourceInput, SourcesInput, build_delivery
from knowledge.api.response_types import (
    DocumentAnswer,
    ErasedAnswer,
    IngestAnswer,
    SourceAnswer,
    SourcesAnswer,
)
from knowledge.models import KnowledgeDocument, KnowledgeSource
from knowledge.retrieval.citations import find_gone_error


class Ingest(AgentView):
    """Ingest documents of one source. Documents with an unchanged digest are not read again.

    If their title, URL or revision is new, it is stored, and they are among the `changed` ones.
    A key without the scope knowledge:trust can only create and update untrusted sources.

    Plain text is searchable when the response arrives. Workers parse other files and fetch pages
    with `fetch`; use `event_ids` to follow their progress. A changed document keeps its unchanged
    chunks.
    """

    scopes = {"POST": Scope.KNOWLEDGE_WRITE}

    @extend_schema(request=IngestInput, responses={200: IngestAnswer, 201: IngestAnswer})
    def post(self, request: Request) -> Response:
        data = parse(IngestInput, request)
        if self.warnings and not (data["documents"] or data["remove"] or data["complete"]):
            # The document is probably in a field that is ignored: this would only create a source.
            raise Invalid(
                f"Send documents, or refs to remove. {self.warnings[0]['message']}",
                issues=[{"path": "documents", "message": "Send at least one document."}],
            )
        deliveries = [build_delivery(each) for each in data["documents"]]
        check_addresses(deliveries)
        source_input = NewSource(**data["source"])
        may_trust = self.request.auth.may(Scope.KNOWLEDGE_TRUST)
        with acting(self.account):
            source = check_source(self.account, self.actor, source_input, may_trust=may_trust)
            check_quota(self.account, deliveries)
        prepared = prepare_deliveries(source, deliveries)
        with acting(self.account):
            with recording(self.account, self.actor) as commit:
                source = _ensure_source(self, source_input, commit)
                remove = list(data["remove"])
                if data["complete"]:
                    remove += list_undelivered(source, {each.ref for each in deliveries})
                result = ingest_deliveries(
                    source, self.actor, prepared, remove=remove, commit=commit
                )
            output = _serialize_result(source, result)
            return self.seal(Response(output, status=201 if result.added else 200))


def _ensure_source(
    view: AgentView, source_input: NewSource, commit: Recording | None = None
) -> KnowledgeSource:
    may_trust = view.request.auth.may(Scope.KNOWLEDGE_TRUST)
    return ensure_source(view.account, view.actor, source_input, may_trust=may_trust, commit=commit)


def _check_may_erase(view: AgentView, sources: QuerySet[KnowledgeSource]) -> None:
    """Raise Denied if a key without the scope knowledge:trust would erase trusted content."""
    trusted = sources.exclude(trust=KnowledgeSource.Trust.UNTRUSTED)
    if not view.request.auth.may(Scope.KNOWLEDGE_TRUST) and trusted.exists():
        raise Denied(
            "Erasing a trusted source requires the scope knowledge:trust. Use such a key, or "
            "erase it in the browser.",
            code="missing_scope",
        )


def _serialize_result(source: KnowledgeSource, result: IngestResult) -> IngestAnswer:
    chunks = result.chunks
    return serialize_as(
        IngestAnswer,
        result,
        source=serialize.serialize_source(_get_source(source.account_id, source.pk)),
        documents=[serialize_as(DocumentAnswer, each) for each in result.documents],
        chunks={
            "kept": chunks["unchanged"],
            "made": chunks["created"],
            "retired": chunks["retired"],
        },
        event_ids=result.events,
    )


def _get_source(account_id: UUID, pk: UUID) -> KnowledgeSource:
    source = KnowledgeSource.objects.of(account_id).with_document_counts().filter(pk=pk).first()
    if source is None:
        raise find_gone_error(account_id, pk) or NotFound("Source not found.")
    return source


class Sources(AgentView):
    """List the sources of the account, or create or update one."""

    scopes = {"GET": Scope.KNOWLEDGE_READ, "POST": Scope.KNOWLEDGE_WRITE}

    @extend_schema(parameters=[SourcesInput], responses={200: SourcesAnswer})
    def get(self, request: Request) -> Response:
        data = parse(SourcesInput, request)
        with acting(self.account):
            rows = KnowledgeSource.objects.of(self.account).with_document_counts().by_name()
            if data.get("after"):
                rows = rows.after(*data["after"])
            rows_plus_one = list(rows[: data["limit"] + 1])
        output = rows_plus_one[: data["limit"]]
        more = f"{output[-1].pk}/{output[-1].name}" if len(rows_plus_one) > len(output) else None
        return Response(
            {"sources": [serialize.serialize_source(each) for each in output], "next": more}
        )

    @extend_schema(request=SourceInput, responses={200: SourceAnswer, 201: SourceAnswer})
    def post(self, request: Request) -> Response:
        source_input = NewSource(**parse(SourceInput, request))
        with acting(self.account):
            source = _ensure_source(self, source_input)
            output = serialize.serialize_source(_get_source(self.account, source.pk))
            return self.seal(Response(output, status=201 if source.is_new else 200))


class Source(AgentView):
    """Return a source, or erase it permanently with its documents. Citations of them return 410.

    Erasing needs no `confirm_token`, because the request names one source. It needs the scope
    `knowledge:trust` unless the source is untrusted.
    """

    scopes = {"GET": Scope.KNOWLEDGE_READ, "DELETE": Scope.KNOWLEDGE_WRITE}

    @extend_schema(responses={200: SourceAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            return Response(serialize.serialize_source(_get_source(self.account, pk)))

    @extend_schema(responses={200: ErasedAnswer})
    def delete(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            _check_may_erase(self, KnowledgeSource.objects.of(self.account).filter(pk=pk))
            commit = erase_source(self.account, pk, self.actor)
        return Response({"id": pk, "commit_id": commit.id})


class Document(AgentView):
    """Return a document, or erase all its versions permanently. Citations of them return 410.

    Erasing needs no `confirm_token`, because the request names one document. It needs the scope
    `knowledge:trust` unless the source of the document is untrusted.
    """

    scopes = {"GET": Scope.KNOWLEDGE_READ, "DELETE": Scope.KNOWLEDGE_WRITE}

    @extend_schema(responses={200: DocumentAnswer})
    def get(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            document = KnowledgeDocument.objects.of(self.account).filter(pk=pk).first()
            if document is None:
                raise find_gone_error(self.account, pk) or NotFound("Document not found.")
            return Response(serialize_as(DocumentAnswer, document))

    @extend_schema(responses={200: ErasedAnswer})
    def delete(self, request: Request, pk: UUID) -> Response:
        with acting(self.account):
            _check_may_erase(self, KnowledgeSource.objects.of(self.account).filter(documents=pk))
            commit = erase_document(self.account, pk, self.actor)
        return Response({"id": pk, "commit_id": commit.id})
