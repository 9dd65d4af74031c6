"""Personal data of context: tool results, summaries, calls and their inputs."""

from collections.abc import Collection
from uuid import UUID

from context.actions.archives import erase_archives_in
from context.actions.erase_from_calls import delete_unshared_bodies
from context.models import (
    ContextCitation,
    ContextCostReport,
    ContextDifference,
    ContextInput,
    ContextSummary,
    ToolResultArchive,
)
from kmapp.accounts.erasure_registry import PersonalDataHandlers, register_personal_data
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.actions import Recording
from kmapp.outbox.failed_deliveries import clear_error_messages


def count_personal_data(account_id: UUID, people: Collection[str]) -> int:
    return (
        ToolResultArchive.objects.of(account_id).filter(user_id__in=people).count()
        + ContextSummary.objects.of(account_id).filter(user_id__in=people).count()
        + ContextCostReport.objects.of(account_id).filter(user_id__in=people).count()
    )


def erase_personal_data(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Erase the data of these people. Parts shared with another person's call stay."""
    archives = list(ToolResultArchive.objects.of(account_id).filter(user_id__in=people))
    summaries = ContextSummary.objects.of(account_id).filter(user_id__in=people)
    reports = ContextCostReport.objects.of(account_id).filter(user_id__in=people)
    report_ids = list(reports.values_list("pk", flat=True))
    summary_ids = list(summaries.values_list("pk", flat=True))
    delete_unshared_bodies(account_id, [*report_ids, *summary_ids])
    ContextInput.objects.of(account_id).filter(report_id__in=report_ids).delete()
    ContextCitation.objects.of(account_id).filter(report_id__in=report_ids).delete()
    ContextDifference.objects.of(account_id).filter(report_id__in=report_ids).delete()
    reports.delete()
    summaries.delete()
    erase_archives_in(commit, archives)
    ids = [*report_ids, *summary_ids]
    IdempotentRequest.objects.of(account_id).naming(ids).erase_responses()
    clear_error_messages(account_id, ids)


register_personal_data(PersonalDataHandlers(count=count_personal_data, erase=erase_personal_data))
