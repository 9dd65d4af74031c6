"""Quality of topics on labelled sentences."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kmapp.providers.active_models import active_model
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.embedding_model_lifecycle import TEMPLATE
from kmapp.search.passage_templates import Passage, Template, render_parts
from memory.topics.clustering import (
    NO_TOPIC,
    Vectors,
    assign_topics,
    build_neighbour_graph,
    compute_adjusted_rand_index,
)

DRAWS, ORDERS = 4, 5  # of dates and of sentence orders; the table shows their mean
DAYS = 180  # over which the dates of the sentences are distributed
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
LABELLED = Path(__file__).parent / "labelled.json"


def _passage(text: str, day: int) -> str:
    passage = Passage(text=text, date=FIRST + timedelta(days=day))
    return next(iter(render_parts(Template(TEMPLATE), passage)))


def topic_quality_lines() -> Iterator[str]:
    """Return a Markdown table of the adjusted Rand index and of unassigned sentences.

    The index covers the sentences in a topic; "of all" counts each other sentence as a topic.
    """
    yield "| language | sentences | labels | topics | adjusted Rand index | of all | no topic |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    embedder = OpenAIEmbedder.for_passages(active_model())
    for language, topics in json.loads(LABELLED.read_text()).items():
        labels = [label for label, texts in topics.items() for _ in texts]
        texts = [text for each in topics.values() for text in each]
        runs = []
        for draw in range(DRAWS):
            chance = np.random.default_rng(3 + draw)
            passages = [_passage(text, int(chance.integers(DAYS))) for text in texts]
            vectors = np.array(embedder.embed(passages, kind="passage"), dtype=np.float32)
            orders = [chance.permutation(len(texts)) for _ in range(ORDERS)]
            runs += [_run(vectors, labels, np.asarray(order)) for order in orders]
        index, of_all, number, alone = np.mean(runs, axis=0)
        topic_of_text = f"{number:.0f} | {index:.2f} | {of_all:.2f} | {alone:.0%}"
        yield f"| {language} | {len(texts)} | {len(topics)} | {topic_of_text} |"


def _run(
    vectors: Vectors, labels: Sequence[str], order: NDArray[np.int64]
) -> tuple[float, float, float, float]:
    """Return the agreement with the labels, the number of topics and of unassigned texts."""
    topic_of_text = assign_topics(build_neighbour_graph(vectors[order]), [NO_TOPIC] * len(order))
    true = [labels[place] for place in order]
    assigned = [
        (label, topic)
        for label, topic in zip(true, topic_of_text, strict=True)
        if topic != NO_TOPIC
    ]
    index = compute_adjusted_rand_index(
        [label for label, _ in assigned], [topic for _, topic in assigned]
    )
    single = [
        topic if topic != NO_TOPIC else NO_TOPIC - 1 - item
        for item, topic in enumerate(topic_of_text)
    ]
    return (
        index,
        compute_adjusted_rand_index(true, single),
        len({*topic_of_text} - {NO_TOPIC}),
        topic_of_text.count(NO_TOPIC) / len(topic_of_text),
    )
