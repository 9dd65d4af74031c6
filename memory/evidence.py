"""What a reviewer looks at beside a proposal. Inside `acting`."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp.search.queries import Collection, Within, best_by_words, weigh
from kmapp.text import terms
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION

TERMS = 24  # the rarest words say most; the others only cost
SIMILAR = 5
LEAST = 0.15  # of the proposal's words, by weight

# Advice of kmapp.redaction, said to a person.
WARNINGS = {
    "hidden_characters": _("Holds characters that draw nothing: a model reads more than you see."),
    "bidi_controls": _("Holds marks that turn the order of the letters on the screen."),
    "tag_characters": _("Holds invisible tag letters, a way to hide a message from people."),
    "mixed_scripts": _("Mixes Latin and Cyrillic letters in one word: some may be look-alikes."),
    "instructions": _("Speaks to the model: tells it what to do instead of what is so."),
    "role_markup": _("Holds markup that pretends to be a system or assistant message."),
    "tool_call": _("Holds what looks like a tool call."),
    "remote_content": _("Points to content elsewhere that would be loaded when shown."),
    "encoded_text": _("Holds encoded text that reads as sentences once decoded."),
}
UNKNOWN = _("Marked for a second look.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Similar:
    """Another memory, and the share of the proposal's words that it holds too, by weight."""

    entry: MemoryEntry
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    warnings: Mapping[str, str | Promise]
    replaces: Sequence[MemoryEntry]  # what approval would supersede
    similar: Sequence[Similar]
    metadata: str  # as JSON, or nothing

    @property
    def before(self) -> MemoryEntry | None:
        """The memory that this one is a new wording of."""
        return self.replaces[0] if self.replaces else None


def evidence(entry: MemoryEntry) -> Evidence:
    replaced = superseded_by(entry)
    known = {one.pk for one in replaced}
    return Evidence(
        warnings={name: WARNINGS.get(name, UNKNOWN) for name in entry.flags},
        replaces=replaced,
        similar=[one for one in similar_by_words(entry) if one.entry.pk not in known],
        metadata=json.dumps(entry.slots, indent=2, ensure_ascii=False) if entry.slots else "",
    )


def superseded_by(entry: MemoryEntry) -> list[MemoryEntry]:
    edges = MemoryEdge.objects.of(entry.account_id).filter(
        src=entry, type=MemoryEdge.Type.SUPERSEDES
    )
    return [edge.dst for edge in edges.select_related("dst").order_by("dst_id")]


def similar_by_words(entry: MemoryEntry) -> list[Similar]:
    """What is remembered or proposed already in much the same words, the most alike first."""
    collection = Collection(account_id=entry.account_id, name=COLLECTION)
    words = weigh(collection, terms(entry.content))
    rarest = sorted(words.idf, key=lambda term: words.idf[term], reverse=True)[:TERMS]
    words = replace(words, idf={term: words.idf[term] for term in rarest})
    rows = MemoryEntry.objects.of(entry.account_id)
    counting = rows.filter(status__in=[MemoryEntry.Status.ACTIVE, MemoryEntry.Status.PROPOSED])
    scores = best_by_words(collection, words, within=Within.of(counting), limit=SIMILAR + 1)
    own = scores.pop(entry.pk, 0.0)
    shares = {pk: min(score / own, 1.0) for pk, score in scores.items()} if own else {}
    near = {pk: share for pk, share in shares.items() if share >= LEAST}
    found = rows.in_bulk(list(near)[:SIMILAR])
    return [Similar(entry=found[pk], score=share) for pk, share in near.items() if pk in found]
