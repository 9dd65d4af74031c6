"""What apps let each key use, shown beside the key. An app says so by decorator."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    """How much of something a key has used, and how much it may."""

    label: "StrOrPromise"
    used: int
    most: int

    @property
    def is_near(self) -> bool:
        return 10 * self.used >= 9 * self.most


Ask = Callable[[UUID, Sequence[UUID]], Mapping[UUID, Sequence[Quota]]]
_asked: list[Ask] = []


def quotas(ask: Ask) -> Ask:
    """Have this asked about an account's keys. It takes few queries, inside `acting`."""
    _asked.append(ask)
    return ask


def quotas_of(account_id: UUID, keys: Sequence[UUID]) -> dict[UUID, list[Quota]]:
    """Of each key, what all apps say."""
    answers = [ask(account_id, keys) for ask in _asked]
    return {key: [quota for answer in answers for quota in answer.get(key, ())] for key in keys}
