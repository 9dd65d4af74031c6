"""The map of a topic among its nearest topics."""

from collections import defaultdict
from typing import Any
from uuid import UUID

import numpy as np

from kmapp.providers.active import active_model
from kmapp.search.queries import Collection, Meaning, Within, nearest
from memory.actions.topic_growth import find_topics, load_vectors, member_edges
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.visibility import Audience
from memory.topics.clustering import Vectors
from memory.topics.projection import HEIGHT, WIDTH, placed

OWN_LIMIT, NEIGHBOUR_LIMIT = 150, 60  # memories on the map: of the topic, of each other topic
NEAREST = 200  # memories from which the other topics are selected
TOPICS = 3  # other topics


def map_of(topic: MemoryEntry) -> dict[str, Any] | None:
    """Return points with their memories and topics, or None while the topic has no vectors."""
    account_id = topic.account_id
    newest = member_edges(account_id, topic.pk).order_by("-src_id")
    own = list(newest.values_list("src_id", flat=True)[:OWN_LIMIT])
    vectors = load_vectors(account_id, own)
    if not vectors:
        return None
    nearby = _nearby_topics(topic, np.mean(list(vectors.values()), axis=0))
    members: dict[UUID, list[UUID]] = defaultdict(list)
    for pk, other_topic in nearby.items():
        if len(members[other_topic]) < NEIGHBOUR_LIMIT:
            members[other_topic].append(pk)
    others = sorted(members.keys() - {topic.pk}, key=lambda pk: (-len(members[pk]), pk))[:TOPICS]
    topics = MemoryEntry.objects.of(account_id).in_bulk(others)
    groups = [(topic, own), *((topics[pk], members[pk]) for pk in others if pk in topics)]
    vectors |= load_vectors(account_id, [pk for _, ids in groups[1:] for pk in ids])
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
        ][::-1],  # the members of the topic come last, so that they are drawn over the others
    }


def _nearby_topics(topic: MemoryEntry, middle: Vectors) -> dict[UUID, UUID]:
    """Return nearby memories of the same audience, with their topics."""
    rows = MemoryEntry.objects.of(topic.account_id).current()
    within = Within.of(rows.filter(**Audience.of_entry(topic).fields))
    collection = Collection(account_id=topic.account_id, name=COLLECTION)
    meaning = Meaning.of(active_model(), middle.tolist())
    nearby = nearest(collection, meaning, within=within, limit=NEAREST)
    return find_topics(topic.account_id, [UUID(each) for each in nearby])
