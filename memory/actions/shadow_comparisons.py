"""Comparisons with the ranking in shadow: stored from Valkey, and removed when they are old."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redact_text
from kmapp.database.clock import SteadyTime
from kmapp.ledger.canonical import encode_canonical
from memory.models import Ranking, RankingComparison
from memory.models.learning import OWNER_IDS
from memory.retrieval.shadow_rankings import take_observations

MAX_COMPARISONS = 500  # of one account; older ones are removed
RETENTION_DAYS = 30  # after which comparisons are removed
UPDATED = ("before", "after", "changed", "created_at")


def store_observations(account_id: UUID) -> int:
    """Store the comparisons that wait, and return their number. Opens `acting` itself."""
    waiting = take_observations(account_id)
    if not waiting:
        return 0
    with acting(account_id):
        shadow = Ranking.objects.of(account_id).filter(status=Ranking.Status.SHADOW).first()
        if shadow is None:
            return 0
        kinds = Account.objects.get(pk=account_id).redact
        current = [each for each in waiting if each["ranking"] == str(shadow.pk)]
        built = [_build_comparison(shadow, each, kinds) for each in reversed(current)]
        rows = {row.pk: row for row in built}  # the newest of equal questions
        RankingComparison.objects.bulk_create(
            rows.values(), update_conflicts=True, unique_fields=["id"], update_fields=UPDATED
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
    ids = {name: observation["viewer"][name] for name in OWNER_IDS}
    scope = observation["viewer"]["scope"] or ""
    key = encode_canonical([str(shadow.pk), question, *ids.values(), scope]).decode()
    return RankingComparison(
        id=uuid5(shadow.account_id, key),
        account_id=shadow.account_id,
        ranking=shadow,
        origin=RankingComparison.Origin.SHADOW,
        question=question,
        **ids,
        scope=scope,
        before=observation["before"],
        after=observation["after"],
        changed=len({*observation["before"]} - {*observation["after"]}),
        created_at=timezone.now(),
    )


def remove_old_comparisons(account_id: UUID) -> int:
    """Delete the comparisons of agents' questions after their retention. Opens `acting` itself."""
    limit = SteadyTime() - timedelta(days=RETENTION_DAYS)
    with acting(account_id):
        old = RankingComparison.objects.of(account_id).filter(created_at__lt=limit)
        return old.filter(origin=RankingComparison.Origin.SHADOW).delete()[0]
