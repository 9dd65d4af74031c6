"""Versions: how texts are cut (index) and how candidates are ranked (algorithm). Pure.

A variant is a pair of both with a name; `X-KM-Variant` chooses one. Two index versions live side
by side: each has chunks, postings and vectors of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass

HEADER = "X-KM-Variant"


@dataclass(frozen=True, slots=True)
class Cut:
    """How one index version cuts texts."""

    tokens: int


CUTS: Mapping[str, Cut] = {"1": Cut(tokens=360), "2": Cut(tokens=160)}


@dataclass(frozen=True, slots=True)
class Algorithm:
    """How one algorithm version ranks."""

    by_document: bool  # the best chunk of a document lifts its others
    per_document: int  # snippets of one document, before others had their turn


ALGORITHMS: Mapping[str, Algorithm] = {
    "1": Algorithm(by_document=False, per_document=2),
    "2": Algorithm(by_document=True, per_document=2),
}


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    index_version: str
    algo_version: str

    @property
    def cut(self) -> Cut:
        return CUTS[self.index_version]

    @property
    def algorithm(self) -> Algorithm:
        return ALGORITHMS[self.algo_version]


VARIANTS = {
    variant.name: variant
    for variant in (Variant("v1", "1", "1"), Variant("v2", "2", "1"), Variant("v3", "1", "2"))
}
DEFAULT = VARIANTS["v1"]


def collection_of(index_version: str) -> str:
    """Where the postings and vectors of an index version are."""
    return f"knowledge.{index_version}"
