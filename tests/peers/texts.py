"""The texts that all stores get: those of labelled files, filled up with synthetic ones."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

USERS = 200  # of the synthetic texts
SYNTHETIC_DATE = "2024-01-01T00:00:00Z"


@dataclass(frozen=True, slots=True)
class Item:
    """A memory to be stored."""

    id: str
    text: str
    user: str
    run: str  # "" if it belongs to none
    observed_at: str

    def row(self) -> dict[str, str]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Question:
    file: str
    text: str
    user: str
    gold: frozenset[str]  # ids of the items that answer it


def labelled(files: Sequence[Path]) -> tuple[list[Item], list[Question]]:
    """Return the items and questions of files; each collection belongs to a user."""
    from memory.benchmarks.offline_retrieval import load_collections  # needs the settings

    items, questions = [], []
    for file in files:
        for each in load_collections(file):
            user = str(each["id"])
            items += [_item(user, row) for row in each["items"]]
            questions += [
                Question(
                    file.name.partition(".")[0],
                    query["text"],
                    user,
                    frozenset(f"{user}/{gold}" for gold in query["gold"]),
                )
                for query in each["queries"]
            ]
    return items, questions


def _item(user: str, row: dict[str, Any]) -> Item:
    return Item(
        f"{user}/{row['id']}", row["text"], user, f"{user}/{row['run']}", row["observed_at"]
    )


def synthetic(number: int, seed: int = 0) -> list[Item]:
    """Return texts of invented words; the same seed always returns the same texts."""
    import numpy as np

    from memory.benchmarks.synthetic_entries import Writer

    texts = Writer(np.random.default_rng((seed, 29))).texts(number)
    return [
        Item(f"s{seed}/{n}", text, f"user-{n % USERS:04}", "", SYNTHETIC_DATE)
        for n, text in enumerate(texts)
    ]


def passages_of(items: Sequence[Item]) -> Iterator[str]:
    """Yield what the stores embed: the bare text, and the forms of kmapp with date and context."""
    from kmapp.providers.embedding_model_lifecycle import TEMPLATE
    from kmapp.search.passage_templates import (
        Passage,
        Template,
        render_parts,
        render_with_predecessor,
    )

    template, last = Template(TEMPLATE), dict[str, str]()
    for item in items:
        passage = Passage(text=item.text, date=datetime.fromisoformat(item.observed_at))
        yield item.text
        yield item.text.replace("\n", " ")  # mem0
        yield from render_parts(template, passage)
        if item.run:
            if item.run in last:
                yield render_with_predecessor(template, passage, last[item.run])
            last[item.run] = item.text


def digest(items: Sequence[Item]) -> str:
    """Return a short hash of the texts, by which two results can be compared."""
    content = "\0".join(item.text for item in items)
    return hashlib.sha256(content.encode()).hexdigest()[:12]
