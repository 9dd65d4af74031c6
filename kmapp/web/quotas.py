"""Registry of quotas per API key, displayed on the page of keys."""

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


LoadQuotas = Callable[[UUID, Sequence[UUID]], Mapping[UUID, Sequence[Quota]]]
_loaders: list[LoadQuotas] = []


def register_quotas(load: LoadQuotas) -> LoadQuotas:
    """Register a function that loads the quotas of an account's keys. Inside `acting`."""
    _loaders.append(load)
    return load


def list_quotas(account_id: UUID, keys: Sequence[UUID]) -> dict[UUID, list[Quota]]:
    answers = [load(account_id, keys) for load in _loaders]
    return {key: [quota for answer in answers for quota in answer.get(key, ())] for key in keys}
