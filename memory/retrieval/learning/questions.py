"""Labelled questions of an account, from judgements and from what other apps register."""

import hashlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from memory.models import Judgement, MemoryEdge, MemoryEntry, Viewer
from memory.models.entries import OWNER_IDS

MAX_LABELS = 20_000
MAX_QUESTIONS = 500  # the newest ones
MAX_SUCCESSORS = 5  # how often a memory may have been superseded
Source = Judgement.Source
# Sources in ascending precedence, for labels of one memory and question that differ.
BY_WEIGHT = (Source.CALL, Source.FEEDBACK, Source.IMPORT, Source.PERSON)


class Label(NamedTuple):
    """Whether a memory is relevant to a question of a viewer."""

    question: str
    viewer: Viewer
    entry_id: UUID
    is_relevant: bool
    source: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledQuestion:
    text: str
    viewer: Viewer
    relevant: frozenset[UUID]

    @property
    def is_held_out(self) -> bool:
        """Return whether weights are evaluated on it, instead of learned from it.

        The answer is the same for equal questions of different viewers.
        """
        return hashlib.sha256(self.text.casefold().encode()).digest()[0] % 2 == 0


LabelSource = Callable[[UUID, int], Iterable[Label]]
_sources: list[LabelSource] = []


def register_labels(source: LabelSource) -> LabelSource:
    """Register a function that receives an account and a limit, and returns the newest labels."""
    _sources.append(source)
    return source


def list_labels(account_id: UUID) -> list[Label]:
    """Return all labels of the account, newest first per source. Inside `acting`."""
    rows = Judgement.objects.of(account_id).exclude(label=Judgement.Label.WITHDRAWN)
    columns = ("question", "entry_id", "label", "source", "created_at", *OWNER_IDS, "scope")
    judged = [
        Label(
            question,
            Viewer(**dict(zip(OWNER_IDS, owner, strict=True)), scope=scope or None),
            entry_id,
            label == Judgement.Label.RELEVANT,
            source,
            created_at,
        )
        for question, entry_id, label, source, created_at, *owner, scope in rows.order_by(
            "-created_at", "-pk"
        ).values_list(*columns)[:MAX_LABELS]
    ]
    return judged + [label for source in _sources for label in source(account_id, MAX_LABELS)]


def list_questions(account_id: UUID, labels: Iterable[Label]) -> list[LabelledQuestion]:
    """Return the newest questions with a relevant memory that is still active. Inside `acting`.

    Decisions of reviewers count: a superseded or merged memory passes its labels to its successor,
    and a rejected or forgotten one has none.
    """
    ordered = sorted(labels, key=lambda each: (BY_WEIGHT.index(Source(each.source)), each[-1]))
    verdicts: dict[tuple[str, Viewer], dict[UUID, bool]] = {}
    newest: dict[tuple[str, Viewer], datetime] = {}
    successors = _successors(account_id, {each.entry_id for each in ordered})
    for each in ordered:
        entry_id = successors.get(each.entry_id)
        if entry_id is None:
            continue
        key = (each.question, each.viewer)
        verdicts.setdefault(key, {})[entry_id] = each.is_relevant
        newest[key] = max(each.created_at, newest.get(key, each.created_at))
    relevant = {
        key: frozenset(pk for pk, is_relevant in entries.items() if is_relevant)
        for key, entries in verdicts.items()
    }
    keys = sorted((key for key in relevant if relevant[key]), key=lambda key: newest[key])
    return [
        LabelledQuestion(text=text, viewer=viewer, relevant=relevant[text, viewer])
        for text, viewer in reversed(keys[-MAX_QUESTIONS:])
    ]


def _successors(account_id: UUID, ids: Collection[UUID]) -> dict[UUID, UUID]:
    """Return for each memory the active one that it is, or that superseded it, if there is one."""
    latest = {pk: pk for pk in ids}
    entries, active = MemoryEntry.objects.of(account_id), set[UUID]()
    for _ in range(MAX_SUCCESSORS):
        unchecked = set(latest.values()) - active
        active |= set(entries.current().filter(pk__in=unchecked).values_list("pk", flat=True))
        if not unchecked - active:
            break
        edges = MemoryEdge.objects.of(account_id).filter(
            type=MemoryEdge.Type.SUPERSEDES,
            dst__in=unchecked - active,
            dst__status=MemoryEntry.Status.SUPERSEDED,
        )
        following = dict(edges.order_by("pk").values_list("dst_id", "src_id"))
        if not following:
            break
        latest = {pk: following.get(last, last) for pk, last in latest.items()}
    return {pk: last for pk, last in latest.items() if last in active}
