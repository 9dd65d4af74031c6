"""Drafts: unsaved texts of a person, which the ledger does not record."""

from collections.abc import Mapping
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.models import User
from knowledge.actions.images import delete_unused_images
from knowledge.models import KnowledgeDraft

FIELDS = ("base_version", "source_name", "folder", "title", "text")


def find_draft(account_id: UUID, owner: User, document_id: UUID | None) -> KnowledgeDraft | None:
    """Return the person's draft of the document, or of a new one. Inside `acting`."""
    rows = KnowledgeDraft.objects.of(account_id)
    return rows.filter(owner=owner, document_id=document_id).first()


def save_draft(
    account_id: UUID, owner: User, document_id: UUID | None, values: Mapping[str, str | int]
) -> KnowledgeDraft:
    """Store a draft in one statement, so that concurrent requests do not conflict."""
    draft = KnowledgeDraft(
        account_id=account_id,
        owner=owner,
        document_id=document_id,
        updated_at=timezone.now(),
        **values,
    )
    KnowledgeDraft.objects.bulk_create(
        [draft],
        update_conflicts=True,
        unique_fields=["account", "owner", "document"],
        update_fields=[*FIELDS, "updated_at"],
    )
    return draft


def delete_draft(
    account_id: UUID, owner: User, document_id: UUID | None, *, saved: str = ""
) -> None:
    """Delete the person's draft, with its images that nothing else contains. Inside `acting`.

    Call it only after the text is saved, or the images of the text are deleted as well. `saved` is
    that text, whose images are not looked up.
    """
    rows = KnowledgeDraft.objects.of(account_id).filter(owner=owner, document_id=document_id)
    texts = list(rows.values_list("text", flat=True))
    rows.delete()
    delete_unused_images(account_id, texts, saved=saved)
