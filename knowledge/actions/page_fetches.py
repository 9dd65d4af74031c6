"""Pages fetched by a worker from their address, then parsed like other deliveries."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.errors import Denied, DomainError, Invalid
from kmapp.security.egress.allowed_urls import AllowedSites, CannotReach, validate_address
from knowledge.actions.ingest import ingest_deliveries
from knowledge.actions.parse_documents import fail_document, lock_pending
from knowledge.actions.prepare_delivery import (
    DeliveredFile,
    check_quota,
    digest_title,
    prepare_deliveries,
)
from knowledge.fetching.fetch import fetch_page
from knowledge.models import KnowledgeDocument
from knowledge.parsing.failure_messages import translate_failure


def get_allowed_sites() -> AllowedSites:
    return AllowedSites.of(settings.KNOWLEDGE_FETCH_HOSTS, settings.KNOWLEDGE_FETCH_PRIVATE)


def check_addresses(deliveries: Sequence[DeliveredFile]) -> None:
    """Refuse addresses that may not be fetched, before anything is written."""
    pending_fetches = [(i, each) for i, each in enumerate(deliveries) if each.to_fetch]
    if pending_fetches and not get_allowed_sites():
        raise Denied(
            _("This installation does not fetch web pages. Send the page content instead."),
            code="fetching_off",
        )
    for i, each in pending_fetches:
        try:
            validate_address(each.url, get_allowed_sites())
        except CannotReach as error:
            message = translate_failure(str(error))
            issues = [{"path": f"documents.{i}.url", "message": message}]
            raise Invalid(message, code="address_refused", issues=issues) from error


def fetch_document(account_id: UUID, document_id: UUID, former_title: str = "") -> None:
    """Fetch a pending page, outside of any transaction, or store why that failed.

    The title of the page replaces a title whose digest is `former_title`.
    """
    with acting(account_id):
        rows = KnowledgeDocument.objects.of(account_id).not_removed().select_related("source")
        document = rows.unparsed().filter(pk=document_id, sha256="").first()
    if document is None:
        return  # fetched, delivered or erased meanwhile
    has_former_title = digest_title(document.title) == former_title
    try:
        with fetch_page(document.url, get_allowed_sites()) as page:
            delivery = DeliveredFile.of(
                document.ref,
                page,
                title="" if has_former_title else document.title,
                former_title=former_title,
                mime=page.mime,
                url=page.url,
                revision=document.revision,
                observed_at=page.fetched_at,
            )
            prepared = prepare_deliveries(document.source, [delivery])
            with acting(account_id):
                locked = lock_pending(document)
                if locked is None:
                    return  # erased, removed or delivered while it was fetched
                if locked.title != document.title:  # delivered while it was fetched
                    prepared = [each.with_title(locked.title) for each in prepared]
                check_quota(account_id, [delivery])
                ingest_deliveries(document.source, SYSTEM, prepared)
    except (CannotReach, DomainError) as error:
        fail_document(document, error)
