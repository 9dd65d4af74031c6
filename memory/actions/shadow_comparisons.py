"""Comparisons of rankings: storing them from Valkey, erasing them, and removing old ones.

Functions that store comparisons lock their ranking first; those that erase any lock all rankings.
"""

from collections.abc import Collection, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from django.db.models import Q
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.erasure_registry import register_erase_handler
from kmapp.accounts.models import Account, AccountQuerySet
from kmapp.accounts.pii_redaction import redact_text
from kmapp.database.steady_clock import SteadyTime
from kmapp.ledger.canonical import encode_canonical
from kmapp.search.id_array_lookup import IdArray
from memory.models import MemoryEntry, Ranking, RankingComparison, Viewer
from memory.models.entries import owner_of
from memory.retrieval.shadow_rankings import (
    find_erased_people,
    has_observations,
    record_erased_people,
    take_observations,
)

MAX_COMPARISONS = 500  # of one account; older ones are removed
RETENTION_DAYS = 30  # after which comparisons are removed
UPDATED = ("before", "after", "changed", "created_at")


def store_observations(account_id: UUID) -> int:
    """Store the pending comparisons, and return their number. Opens `acting` itself."""
    if not has_observations(account_id):
        return 0
    with acting(account_id):
        rankings = Ranking.objects.of(account_id).filter(status=Ranking.Status.SHADOW)
        shadow = rankings.select_for_update(no_key=True, skip_locked=True).first()
        if shadow is None:  # or it is locked: the next run stores them
            return 0
        waiting = take_observations(account_id)
        kinds = Account.objects.get(pk=account_id).redact
        current = [each for each in waiting if each["ranking"] == str(shadow.pk)]
        built = [_build_comparison(shadow, each, kinds) for each in reversed(current)]
        newest = {row.pk: row for row in built}  # of equal questions
        rows = select_storable(account_id, newest.values())
        RankingComparison.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["id"], update_fields=UPDATED
        )
        stored = RankingComparison.objects.of(account_id)
        observed = stored.filter(origin=RankingComparison.Origin.SHADOW)
        surplus = observed.order_by("-created_at").values_list("pk", flat=True)[MAX_COMPARISONS:]
        stored.filter(pk__in=list(surplus)).delete()
    return len(rows)


def _build_comparison(
    shadow: Ranking, observation: dict[str, Any], kinds: list[str]
) -> RankingComparison:
    question = redact_text(observation["question"], kinds)
    owner = owner_of(Viewer(**observation["viewer"]))
    key = encode_canonical([str(shadow.pk), question, *owner.values()]).decode()
    return RankingComparison(
        id=uuid5(shadow.account_id, key),
        account_id=shadow.account_id,
        ranking=shadow,
        origin=RankingComparison.Origin.SHADOW,
        question=question,
        **owner,
        before=[UUID(pk) for pk in observation["before"]],
        after=[UUID(pk) for pk in observation["after"]],
        changed=len({*observation["before"]} - {*observation["after"]}),
        created_at=timezone.now(),
    )


def select_storable(
    account_id: UUID, comparisons: Collection[RankingComparison]
) -> list[RankingComparison]:
    """Return the comparisons whose memories all exist, and whose people were not erased.

    Inside `acting`, with the ranking locked. An erasure that is not committed yet deletes them.
    """
    erased_people = find_erased_people(account_id, {row.user_id for row in comparisons} - {""})
    named = {pk for row in comparisons for pk in list_memories(row)}
    existing = MemoryEntry.objects.of(account_id).filter(pk__any_of=IdArray(named))
    erased = named - {*existing.values_list("pk", flat=True)}
    return [
        row
        for row in comparisons
        if erased.isdisjoint(list_memories(row)) and row.user_id not in erased_people
    ]


def list_memories(row: RankingComparison) -> list[UUID]:
    return [*row.before, *row.after, *row.relevant]


@register_erase_handler
def delete_comparisons(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Delete the comparisons with erased memories, whose questions may quote them.

    Inside `acting`.
    """
    rows = _lock_comparisons(account_id)
    erased = list(ids)
    named = Q(before__overlap=erased) | Q(after__overlap=erased) | Q(relevant__overlap=erased)
    rows.filter(named).delete()


def delete_comparisons_of_people(account_id: UUID, people: Collection[str]) -> None:
    """Delete the comparisons of these people's questions, and all pending ones. Inside `acting`."""
    rows = _lock_comparisons(account_id)
    record_erased_people(account_id, people)
    take_observations(account_id)
    rows.filter(user_id__in=people).delete()


def _lock_comparisons(account_id: UUID) -> AccountQuerySet[RankingComparison]:
    """Lock the rankings, so that no comparison is stored meanwhile, and return the comparisons."""
    rankings = Ranking.objects.of(account_id).order_by("pk").select_for_update(no_key=True)
    list(rankings.values_list("pk"))
    return RankingComparison.objects.of(account_id)


def remove_old_comparisons(account_id: UUID) -> int:
    """Delete the comparisons of agents' questions after their retention. Opens `acting` itself."""
    limit = SteadyTime() - timedelta(days=RETENTION_DAYS)
    with acting(account_id):
        old = RankingComparison.objects.of(account_id).filter(created_at__lt=limit)
        return old.filter(origin=RankingComparison.Origin.SHADOW).delete()[0]
