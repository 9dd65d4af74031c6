"""Ids and names of objects of one account, one of each kind that a URL may contain."""

from dataclasses import dataclass
from uuid import UUID

from context.models import ContextComparison, ContextCostReport, ToolResultArchive
from kmapp.accounts.acting import acting
from kmapp.accounts.company_sign_in.models import CompanyIdentity
from kmapp.accounts.models import Account, ApiKey, Invitation, Membership, User
from kmapp.ledger.models import Commit
from kmapp.notifications.models import Notification
from kmapp.notifications.webhooks.models import Webhook
from kmapp.outbox.models import Delivery, OutboxEvent
from knowledge.models import (
    KnowledgeChunk,
    KnowledgeDocument,
    KnowledgeImage,
    KnowledgeQuestion,
    KnowledgeSource,
    LorebookEntry,
)
from memory.models import BulkRun, MemoryEdge, MemoryEntry, Ranking, SavedView, TopicSuggestion
from rules.models import Rule, RuleDecision, RulePromotion


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectIds:
    """One id or name of each kind of object."""

    account: UUID
    slug: str
    entry: UUID
    archive: UUID
    report: UUID
    comparison: UUID
    proposal: UUID
    suggestion: UUID
    client_id: str
    edge: UUID
    key: UUID
    member: UUID
    invitation: UUID
    delivery: UUID
    commit: UUID
    event: UUID
    run: UUID
    rule: UUID
    decision: UUID
    promotion: UUID
    source: UUID
    document: UUID
    chunk: UUID
    image: str
    view: UUID
    lorebook: UUID
    lore: UUID
    question: UUID
    webhook: UUID
    identity: UUID
    notification: UUID
    ranking: UUID


def collect_ids(
    account: Account, *, entry: MemoryEntry, proposal: MemoryEntry, member: User
) -> ObjectIds:
    """Return the first id of each kind, after marking the first delivery as failed."""
    with acting(account):
        delivery = Delivery.objects.of(account)[0]
        Delivery.objects.filter(pk=delivery.pk).update(failed_at=delivery.due_at)
        return ObjectIds(
            account=account.pk,
            slug=account.slug,
            entry=entry.pk,
            archive=ToolResultArchive.objects.of(account)[0].pk,
            report=ContextCostReport.objects.of(account)[0].pk,
            comparison=ContextComparison.objects.of(account)[0].pk,
            proposal=proposal.pk,
            suggestion=TopicSuggestion.objects.of(account)[0].pk,
            client_id=entry.client_id or "",
            edge=MemoryEdge.objects.of(account)[0].pk,
            key=ApiKey.objects.of(account)[0].pk,
            member=Membership.objects.of(account).get(user=member).pk,
            invitation=Invitation.objects.of(account)[0].pk,
            delivery=delivery.pk,
            commit=Commit.objects.of(account)[0].pk,
            view=SavedView.objects.of(account)[0].pk,
            event=OutboxEvent.objects.of(account)[0].pk,
            run=BulkRun.objects.of(account)[0].pk,
            rule=Rule.objects.of(account).filter(state="active")[0].pk,
            decision=RuleDecision.objects.of(account)[0].pk,
            promotion=RulePromotion.objects.of(account)[0].pk,
            source=KnowledgeSource.objects.of(account).of_documents()[0].pk,
            document=KnowledgeDocument.objects.of(account)[0].pk,
            chunk=KnowledgeChunk.objects.of(account)[0].pk,
            image=KnowledgeImage.objects.of(account)[0].sha256,
            lorebook=KnowledgeSource.objects.of(account).lorebooks()[0].pk,
            lore=LorebookEntry.objects.of(account)[0].pk,
            question=KnowledgeQuestion.objects.of(account)[0].pk,
            webhook=Webhook.objects.of(account)[0].pk,
            identity=CompanyIdentity.objects.of(account)[0].pk,
            notification=Notification.objects.of(account).get(kind="job.failed").pk,
            ranking=Ranking.objects.of(account).get(status="shadow").pk,
        )
