"""The map of a topic among its nearest topics."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

import numpy as np

from kmapp.providers.active import active_model
from kmapp.search.models import Vector
from kmapp.search.queries import Collection, Meaning, Within, nearest
from memory.actions.topic_growth import find_topics, member_edges
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.visibility import Audience
from memory.topics.clustering import Vectors
from memory.topics.projection import HEIGHT, WIDTH, placed

OWN, NEIGHBOUR_LIMIT = 150, 60  # memories drawn: of the topic itself, of each beside it
NEAREST = 200  # memories among which the topics beside it are told
TOPICS = 3


def map_of(topic: MemoryEntry) -> dict[str, Any] | None:
    """Points with their texts, and which topics they belong to; None while there are no vectors."""
    account_id = topic.account_id
    own = _some(topic, OWN)
    vectors = _vectors(account_id, own)
    if not vectors:
        return None
    nearby = _nearby_topics(topic, np.mean(list(vectors.values()), axis=0))
    theirs: dict[UUID, list[UUID]] = defaultdict(list)
    for pk, of in nearby.items():
        if len(theirs[of]) < NEIGHBOUR_LIMIT:
            theirs[of].append(pk)
    neighbour_topics = _largest(topic, theirs)
    groups = [(topic, own), *((other, theirs.get(other.pk, [])) for other in neighbour_topics)]
    vectors |= _vectors(account_id, [pk for _, ids in groups[1:] for pk in ids])
    drawn = [(number, pk) for number, (_, ids) in enumerate(groups) for pk in ids if pk in vectors]
    points = placed(np.array([vectors[pk] for _, pk in drawn], dtype=np.float32))
    texts = MemoryEntry.objects.of(account_id).only("pk", "content", "account_id")
    entries_by_id = texts.in_bulk([pk for _, pk in drawn])
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "topics": [each for each, _ in groups],
        "points": [
            {"at": point, "group": number, "entry": entries_by_id[pk]}
            for (number, pk), point in zip(drawn, points, strict=True)
            if pk in entries_by_id
        ][::-1],  # its own are drawn last, over the others
    }


def _some(topic: MemoryEntry, most: int) -> list[UUID]:
    """Members, the newest."""
    edges = member_edges(topic.account_id, topic.pk).order_by("-src_id")
    return list(edges.values_list("src_id", flat=True)[:most])


def _vectors(account_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Sequence[float]]:
    rows = Vector.objects.of(account_id).filter(
        collection=COLLECTION, part=0, model=active_model().pk, state=Vector.State.READY
    )
    rows_by_object = rows.filter(object_id__in=list(ids)).values_list("object_id", "embedding")
    return {pk: vector for pk, vector in rows_by_object if vector is not None}


def _nearby_topics(topic: MemoryEntry, middle: Vectors) -> dict[UUID, UUID]:
    """Return nearby memories of the same audience, with their topics."""
    rows = MemoryEntry.objects.of(topic.account_id).current()
    within = Within.of(rows.filter(**Audience.of_entry(topic).fields))
    collection = Collection(account_id=topic.account_id, name=COLLECTION)
    meaning = Meaning.of(active_model(), middle.tolist())
    nearby = nearest(collection, meaning, within=within, limit=NEAREST)
    return find_topics(topic.account_id, [UUID(each) for each in nearby])


def _largest(topic: MemoryEntry, theirs: Mapping[UUID, Sequence[UUID]]) -> list[MemoryEntry]:
    """Return the other topics with the most of these memories."""
    others = sorted(theirs.keys() - {topic.pk}, key=lambda pk: (-len(theirs[pk]), pk))[:TOPICS]
    rows_by_object = MemoryEntry.objects.of(topic.account_id).in_bulk(others)
    return [rows_by_object[pk] for pk in others if pk in rows_by_object]
