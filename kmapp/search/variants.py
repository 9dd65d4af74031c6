"""Variants: versions of chunking (index) and of ranking (algorithm). Pure.

A variant is a named pair of both; `X-KM-Variant` selects one for a call. Memories are not chunked,
so an index version does not affect them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict

VARIANT_HEADER = "X-KM-Variant"


@dataclass(frozen=True, slots=True)
class Algorithm:
    by_document: bool = False  # the best chunk of a document raises its other chunks
    per_document: int = 2  # snippets of one document before those of others
    by_run: bool = True  # neighbours in the run raise a memory


@dataclass(frozen=True, slots=True)
class AccountRanking:
    """Search weights that an account learned, in the order of `signal_weights.LEARNED_WEIGHTS`."""

    number: int
    weights: tuple[float, ...]


ALGORITHMS: Mapping[str, Algorithm] = {
    "1": Algorithm(),
    "2": Algorithm(by_document=True),
    "3": Algorithm(by_run=False),
}


class Versions(TypedDict):
    variant: str
    index_version: str
    algo_version: str


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    index_version: str
    algo_version: str
    ranking: AccountRanking | None = None  # None: the shipped weights

    @property
    def algorithm(self) -> Algorithm:
        return ALGORITHMS[self.algo_version]

    def versions(self) -> Versions:
        return {
            "variant": self.name,
            "index_version": self.index_version,
            "algo_version": f"{self.algo_version}.r{self.ranking.number}"
            if self.ranking
            else self.algo_version,
        }


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("v1", "1", "1"),
        Variant("v2", "2", "1"),
        Variant("v3", "1", "2"),
        Variant("v4", "1", "3"),
    )
}
DEFAULT_VARIANT = VARIANTS["v1"]
