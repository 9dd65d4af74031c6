"""Owners of documents, dates after which they are stale, requested reviews, and tags."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Membership
from kmapp.errors import Invalid, NotFound
from kmapp.ledger.actions import recording
from knowledge.actions.sources import lock_source_of
from knowledge.models import KnowledgeDocument
from knowledge.retrieval.cache_version import invalidate_cache

PEOPLE = ("owner", "reviewer")


def change_details(
    account_id: UUID, actor: Actor, document_id: UUID, values: Mapping[str, Any]
) -> KnowledgeDocument:
    """Update the details that differ, in one commit. Use inside `acting`."""
    lock_source_of(account_id, document_id)
    rows = KnowledgeDocument.objects.of(account_id).select_for_update(no_key=True)
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise NotFound(_("This document does not exist. It may have been erased."))
    changed = {name: value for name, value in values.items() if getattr(document, name) != value}
    if not changed:
        return document
    _check_members(account_id, [changed[name] for name in PEOPLE if changed.get(name)])
    with recording(account_id, actor) as commit:
        for name, value in changed.items():
            setattr(document, name, value)
        document.commit_id = commit.id
        document.save(update_fields=[*changed, "commit"])
        commit.add(document, "UPDATE")
    if "tags" in changed:
        invalidate_cache(account_id)
    return document


def complete_review(
    account_id: UUID, actor: Actor, document_id: UUID, *, review_after: datetime | None
) -> KnowledgeDocument:
    """Record that a document is up to date until `review_after`. Use inside `acting`."""
    values = {"reviewer": "", "review_after": review_after, "reviewed_at": timezone.now()}
    return change_details(account_id, actor, document_id, values)


def _check_members(account_id: UUID, people: list[str]) -> None:
    """Refuse people who are not members, because they could not open the document."""
    ids = {pk for each in people if (pk := Actor.parse(each).id)}
    members = Membership.objects.of(account_id).filter(user_id__in=ids)
    if members.count() < len(ids):
        raise Invalid(_("Choose a member of this account."))
