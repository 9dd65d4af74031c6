"""How well topics are found: labelled sentences, grouped by their vectors alone."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kmapp.providers.active import active_model
from kmapp.providers.embedding import OpenAIEmbedder
from memory.clustering import NONE, agreement, grow

LABELLED = Path(__file__).parent / "labelled.json"


def measured_topics() -> Iterator[str]:
    """A Markdown table: the adjusted Rand index, and how many sentences found no topic."""
    yield "| language | sentences | topics | found | adjusted Rand index | no topic |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    embedder = OpenAIEmbedder.for_passages(active_model())
    for language, topics in json.loads(LABELLED.read_text()).items():
        labels = [label for label, texts in topics.items() for _ in texts]
        texts = [text for each in topics.values() for text in each]
        vectors = np.array(embedder.embed(texts, kind="passage"), dtype=np.float32)
        order = np.random.default_rng(3).permutation(len(texts))
        found = grow(vectors[order], [NONE] * len(texts)).topics
        index = agreement([labels[place] for place in order], found)
        alone = found.count(NONE) / len(found)
        number = len({*found} - {NONE})
        yield (
            f"| {language} | {len(texts)} | {len(topics)} | {number} | {index:.2f} | {alone:.0%} |"
        )
