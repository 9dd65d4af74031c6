"""Merging of adjacent matching chunks into one passage. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from kmapp.database.ids import IdText
from kmapp.search.candidate_ranking import RankedCandidates

MAX_CHUNKS = 3  # chunks in one passage
MIN_RATIO = 0.8  # to the score of the best chunk: a weaker neighbour would only dilute it


@dataclass(frozen=True, slots=True)
class ChunkPosition:
    document: IdText
    number: int

    def neighbour(self, step: int) -> "ChunkPosition":
        return ChunkPosition(self.document, self.number + step)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkRun:
    """Adjacent chunks in the order of their text, with the score of the best."""

    document: IdText
    chunks: tuple[IdText, ...]
    score: float
    parts: Mapping[str, float]
    ready: bool

    def as_list(self) -> list[Any]:
        return [self.document, list(self.chunks), self.score, dict(self.parts), self.ready]

    @classmethod
    def from_list(cls, packed: list[Any]) -> Self:
        document, chunks, score, parts, ready = packed
        return cls(document=document, chunks=tuple(chunks), score=score, parts=parts, ready=ready)


def merge_chunks(
    ranked: RankedCandidates,
    positions: Mapping[IdText, ChunkPosition],
    ready: frozenset[IdText],
    *,
    merge: bool = True,
) -> Iterator[ChunkRun]:
    """Yield merged runs, best first. Each chunk is in one run only.

    A run gets the better of both neighbours as long as its score is high enough.
    """
    ids = ranked.ids
    scores = dict(zip(ids, ranked.scores, strict=True))
    unscaled_scores = dict(zip(ids, ranked.unscaled_scores, strict=True))
    chunk_by_position = {positions[pk]: pk for pk in ids}
    used: set[IdText] = set()
    for rank, best in enumerate(ids):
        if best in used:
            continue
        run = [best]
        min_score = unscaled_scores[best] * MIN_RATIO
        while merge and len(run) < MAX_CHUNKS:
            before = chunk_by_position.get(positions[run[0]].neighbour(-1))
            after = chunk_by_position.get(positions[run[-1]].neighbour(1))
            neighbours = [
                pk
                for pk in (before, after)
                if pk and pk not in used and unscaled_scores[pk] >= min_score
            ]
            if not neighbours:
                break
            better = max(neighbours, key=scores.__getitem__)
            run = [better, *run] if better == before else [*run, better]
        used.update(run)
        yield ChunkRun(
            document=positions[best].document,
            chunks=tuple(run),
            score=scores[best],
            parts=ranked[rank].parts,
            ready=best in ready,
        )
