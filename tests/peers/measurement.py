"""Measurements of several stores in turn, so that other load on the machine affects all alike."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from statistics import mean, quantiles

from tests.peers.systems import System, Timing
from tests.peers.texts import Item, Question

BATCH = 200
LIMIT = 10


@dataclass
class Figures:
    """The measurements of one store. Times are in seconds."""

    system: System
    batches: list[Timing] = field(default_factory=list)
    batch_findable: list[float] = field(default_factory=list)  # from the start of each batch
    singles: list[Timing] = field(default_factory=list)
    single_findable: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)
    searches_without_embedding: list[float] = field(default_factory=list)
    recall: dict[str, list[float]] = field(default_factory=dict)  # by file
    hit: dict[str, list[bool]] = field(default_factory=dict)
    results: list[int] = field(default_factory=list)  # of each search, at most `LIMIT`
    bytes_before: int = 0
    bytes_after: int = 0
    written: int = 0
    memory: float = 0.0

    def write(self, items: Sequence[Item]) -> None:
        timing = self.system.add(items)
        findable = timing.seconds + self.system.wait_until_findable()
        self.written += len(items)
        single = len(items) == 1
        (self.singles if single else self.batches).append(timing)
        (self.single_findable if single else self.batch_findable).append(findable)

    def ask(self, question: Question) -> None:
        ids, timing = self.system.search(question.text, question.user, LIMIT)
        self.searches.append(timing.seconds)
        self.results.append(len(ids))
        again = self.system.search_again(question.text, question.user, LIMIT)
        without = again if again >= 0 else timing.seconds - timing.embedding
        self.searches_without_embedding.append(without)
        share = len(question.gold & set(ids)) / len(question.gold)
        self.recall.setdefault(question.file, []).append(share)
        self.hit.setdefault(question.file, []).append(share > 0)

    @property
    def bytes_per_memory(self) -> float:
        return (self.bytes_after - self.bytes_before) / max(self.written, 1)

    @property
    def single_rate(self) -> float:
        """Return single writes per second without embeddings."""
        return 1 / mean(each.seconds - each.embedding for each in self.singles)

    @property
    def batch_rate(self) -> float:
        """Return memories per second written in batches, without embeddings."""
        return self.batched / sum(each.seconds - each.embedding for each in self.batches)

    @property
    def findable_rate(self) -> float:
        """Return memories per second until search by meaning finds them, with cached vectors."""
        return self.batched / sum(self.batch_findable)

    @property
    def batched(self) -> int:
        return self.written - len(self.singles)


def percentiles(seconds: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p95 in milliseconds."""
    cuts = quantiles([1000 * each for each in seconds], n=100, method="inclusive")
    return cuts[49], cuts[94]


def rotate(all_figures: Sequence[Figures], number: int) -> Iterator[Figures]:
    """Yield all stores, starting with another one in each round."""
    start = number % len(all_figures)
    yield from (*all_figures[start:], *all_figures[:start])


def measure(
    systems: Sequence[System],
    items: Sequence[Item],
    singles: Sequence[Item],
    questions: Sequence[Question],
    report: Callable[[str], None],
) -> list[Figures]:
    """Write the items in batches and the others one by one, then ask the questions."""
    all_figures = [Figures(each, bytes_before=each.bytes_on_disk()) for each in systems]
    chunks = [items[start : start + BATCH] for start in range(0, len(items), BATCH)]
    for number, chunk in enumerate([*chunks, *[[item] for item in singles]]):
        if number % 10 == 0 and number < len(chunks):
            report(f"{number * BATCH:,} of {len(items):,} texts written to each store")
        for figures in rotate(all_figures, number):
            figures.write(chunk)
    for figures in all_figures:
        figures.bytes_after = figures.system.bytes_on_disk()
    report(f"{len(questions):,} questions")
    for number, question in enumerate(questions):
        for figures in rotate(all_figures, number):
            figures.ask(question)
    for figures in all_figures:
        figures.memory = figures.system.memory()
    return all_figures
