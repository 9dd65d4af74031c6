"""Registry of the quotas of API keys.

The app that counts what a key uses registers a function; the page of the keys calls it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota:
    label: "StrOrPromise"
    used: int
    limit: int

    @property
    def is_nearly_used_up(self) -> bool:
        return 10 * self.used >= 9 * self.limit


# Called inside `acting`, with the account and the ids of keys.
LoadQuotas = Callable[[UUID, Sequence[UUID]], Mapping[UUID, Sequence[Quota]]]
_quota_loaders: list[LoadQuotas] = []


def register_quotas(load: LoadQuotas) -> LoadQuotas:
    _quota_loaders.append(load)
    return load


def list_quotas(account_id: UUID, keys: Sequence[UUID]) -> dict[UUID, list[Quota]]:
    answers = [load(account_id, keys) for load in _quota_loaders]
    return {key: [quota for answer in answers for quota in answer.get(key, ())] for key in keys}
