"""Storage limits of an account."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.db.models import Sum
from django.utils.translation import gettext as _

from kmapp.errors import TooLarge
from knowledge.actions.prepare_delivery import Delivery
from knowledge.models import KnowledgeDocument


def refuse_too_much(account_id: UUID, deliveries: Sequence[Delivery]) -> None:
    """Refuse a file that is too large, or what would be too much in all. Inside `acting`."""
    for i, each in enumerate(deliveries):
        most = settings.KNOWLEDGE_MAX_FILE_BYTES
        if each.size > most:
            raise TooLarge(
                _("“%(ref)s” is too large: %(size)s bytes. The limit is %(most)s bytes per file.")
                % {"ref": each.ref, "size": f"{each.size:,}", "most": f"{most:,}"},
                issues=[{"path": f"documents.{i}", "message": "is too large"}],
            )
    rows = KnowledgeDocument.objects.of(account_id).present()
    stored_bytes = rows.aggregate(Sum("size"))["size__sum"] or 0
    room = settings.KNOWLEDGE_MAX_ACCOUNT_BYTES - stored_bytes
    if sum(each.size for each in deliveries) > room:
        raise TooLarge(
            _(
                "Document storage is full: %(kept)s of %(most)s bytes are used. Erase some "
                "documents, then try again."
            )
            % {"most": f"{settings.KNOWLEDGE_MAX_ACCOUNT_BYTES:,}", "kept": f"{stored_bytes:,}"},
            code="account_full",
        )
