"""What is kept under a person's id: tool results, summaries, calls and what those were made of."""

from collections.abc import Collection
from uuid import UUID

from context.actions.archives import erase_in
from context.actions.retention import forget_bodies
from context.models import (
    ContextCitation,
    ContextCostReport,
    ContextDifference,
    ContextInput,
    ContextSummary,
    ToolResultArchive,
)
from kmapp.accounts.personal_data import PersonalDataHandlers, register_personal_data
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.actions import Recording
from kmapp.outbox.error_scrubbing import silence_errors


def count(account_id: UUID, people: Collection[str]) -> int:
    return (
        ToolResultArchive.objects.of(account_id).filter(user_id__in=people).count()
        + ContextSummary.objects.of(account_id).filter(user_id__in=people).count()
        + ContextCostReport.objects.of(account_id).filter(user_id__in=people).count()
    )


def erase(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Erase them. Parts of calls that another person's call shares stay with that."""
    archives = list(ToolResultArchive.objects.of(account_id).filter(user_id__in=people))
    summaries = ContextSummary.objects.of(account_id).filter(user_id__in=people)
    reports = ContextCostReport.objects.of(account_id).filter(user_id__in=people)
    calls = list(reports.values_list("pk", flat=True))
    texts = list(summaries.values_list("pk", flat=True))
    forget_bodies(account_id, [*calls, *texts])
    ContextInput.objects.of(account_id).filter(report_id__in=calls).delete()
    ContextCitation.objects.of(account_id).filter(report_id__in=calls).delete()
    ContextDifference.objects.of(account_id).filter(report_id__in=calls).delete()
    reports.delete()
    summaries.delete()
    erase_in(commit, archives)
    named = [*calls, *texts]
    IdempotentRequest.objects.of(account_id).naming(named).forget()
    silence_errors(account_id, named)


register_personal_data(PersonalDataHandlers(count=count, erase=erase))
