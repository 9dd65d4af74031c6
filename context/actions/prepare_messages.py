"""Message lists on their way to a model and back: placeholders in, wanted results whole."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

from django.db.models import Q

from context.actions.archives import keep
from context.archives.placeholder_swap import (
    filled,
    place,
    references,
    refers_back,
    settled,
    standing_for,
    too_long,
    tool_of,
)
from context.archives.placeholders import passages_header, placeholder
from context.archives.search import Question, Relevance, passages_about, readable, relevance
from context.assembly.messages import Message, Slot, calls, replaced, slots
from context.models import ContextSettings, ToolResultArchive
from context.models.archive_input import NewResult, sent_sha256
from context.models.archives import Within
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.errors import NotFound
from kmapp.text import tokens

ENOUGH = 0.34  # score from which a result is loaded
SHORTEST = 200  # characters; a placeholder is longer than anything shorter


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """How a conversation is to be prepared."""

    within: Within
    agent_id: str = ""
    keep_turns: int = 1
    query: str = ""
    load: str = "none"  # none, keywords, semantic, hybrid
    load_uuids: Sequence[UUID] = ()
    load_limit: int = 1
    max_tokens: int | None = None  # of each that is loaded: passages about the query
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """The messages, and what was done to them and why."""

    messages: list[Message]
    archived: Sequence[ToolResultArchive]
    fresh: frozenset[UUID]
    loaded: Sequence[Mapping[str, Any]]
    decisions: list[Mapping[str, Any]] = field(default_factory=list)


def shelved(
    settings: ContextSettings, actor: Actor, messages: Sequence[Message], asked: Preparation
) -> Prepared:
    """Placeholders in the place of what is too long. Inside `acting`."""
    long = too_long(messages, asked.keep_turns, settings.threshold_of)
    known = known_results(settings.account_id, asked.within, settled(messages, asked.keep_turns))
    left = [slot for slot in long if place(slot) not in known]
    name, called = tool_of(messages), calls(messages)
    drafts = [
        NewResult(
            text=slot.text,
            tool_name=name(slot)[:100],
            tool_input=called[slot.call_id].input if slot.call_id in called else None,
            tool_call_id=slot.call_id[:200],
            conversation_id=asked.within.conversation_id,
            thread_id=asked.within.thread_id,
            user_id=asked.within.user_id,
            agent_id=asked.agent_id,
            language=asked.language,
        )
        for slot in left
    ]
    made, fresh = keep(settings, actor, drafts) if drafts else ([], frozenset())
    by_place = {**known, **{place(slot): row for slot, row in zip(left, made, strict=True)}}
    texts = {at: placeholder(row.told(), row.language) for at, row in by_place.items()}
    return Prepared(
        messages=replaced(messages, texts),
        archived=list({row.pk: row for row in by_place.values()}.values()),
        fresh=fresh,
        loaded=(),
    )


def known_results(
    account_id: UUID, within: Within, found: Iterable[Slot]
) -> dict[Any, ToolResultArchive]:
    """The archives of texts that are kept already, by the place where they stand whole."""
    whole = [
        slot for slot in found if len(slot.text) >= SHORTEST and standing_for(slot.text) is None
    ]
    sent = {place(slot): sent_sha256(account_id, slot.text) for slot in whole}
    kept = {place(slot): sha256(slot.text.encode()).hexdigest() for slot in whole}
    if not whole:
        return {}
    rows = (
        readable(account_id, within)
        .briefly()
        .filter(Q(sent_sha256__in=set(sent.values())) | Q(sha256__in=set(kept.values())))
    )
    by_digest = {}
    for row in rows.order_by("-created_at", "-pk"):
        by_digest[row.sent_sha256] = by_digest[row.sha256] = row
    found_rows = ((at, by_digest.get(sent[at]) or by_digest.get(kept[at])) for at in sent)
    return {at: row for at, row in found_rows if row}


def prepared(
    account_id: UUID, actor: Actor, messages: Sequence[Message], asked: Preparation
) -> Prepared:
    """Placeholders in, then what is wanted whole. Opens `acting` itself."""
    with acting(account_id):
        settings = ContextSettings.objects.here(account_id)
        first = shelved(settings, actor, messages, asked)
    question = Question(account_id=account_id, text=asked.query, decisions=first.decisions)
    wanted = _wanted(question, first.messages, asked)
    texts, loaded = _texts(question, asked, wanted)
    found = references(first.messages)
    return Prepared(
        messages=replaced(first.messages, filled(found, texts)),
        archived=first.archived,
        fresh=first.fresh,
        loaded=loaded,
        decisions=first.decisions,
    )


def _wanted(
    question: Question, messages: Sequence[Message], asked: Preparation
) -> dict[UUID, Mapping[str, Any]]:
    """Which archives to load, each with the reason."""
    wanted: dict[UUID, Mapping[str, Any]] = {
        pk: {"strategy": "named"} for pk in dict.fromkeys(asked.load_uuids)
    }
    back = refers_back(asked.query)
    if asked.load == "none" or not asked.query or (asked.load == "keywords" and not back):
        return wanted
    query = asked.query.replace(back, " ") if back else asked.query
    meaning = question.meaning if asked.load != "keywords" else None
    account_id = question.account_id
    with acting(account_id):
        rows = readable(account_id, asked.within).filter(pk__in=list(references(messages)))
        found = relevance(account_id, query, meaning, rows)
    scores = {pk: _score(each, asked.load, back) for pk, each in found.items() if pk not in wanted}
    best = sorted(scores, key=lambda pk: (-scores[pk], pk))
    for pk in [pk for pk in best if scores[pk] >= ENOUGH][: asked.load_limit]:
        wanted[pk] = {"strategy": asked.load, "score": round(scores[pk], 4), "words": back}
    return wanted


def _score(found: Relevance, load: str, back: str) -> float:
    """From 0 to 1. Words count where somebody refers to what was said before."""
    if load == "semantic":
        return found.meaning
    return max(found.words if back else 0.0, found.meaning if load == "hybrid" else 0.0)


def _texts(
    question: Question, asked: Preparation, wanted: Mapping[UUID, Mapping[str, Any]]
) -> tuple[dict[UUID, str], list[Mapping[str, Any]]]:
    texts: dict[UUID, str] = {}
    loaded: list[Mapping[str, Any]] = []
    for pk, why in wanted.items():
        try:
            text, part = _text(question, asked, pk)
        except NotFound:
            loaded.append({"uuid": pk, "why": why, "tokens": 0, "part": "missing"})
            continue
        texts[pk] = text
        loaded.append({"uuid": pk, "why": why, "tokens": tokens.count(text), "part": part})
    return texts, loaded


def _text(question: Question, asked: Preparation, pk: UUID) -> tuple[str, str]:
    account_id = question.account_id
    if asked.max_tokens and asked.query:
        told = passages_about(question, pk, asked.within, asked.max_tokens)
        return passages_header(pk, told.archive.language) + told.text, "passages"
    with acting(account_id):
        archive = readable(account_id, asked.within).filter(pk=pk).first()
    if archive is None:
        raise NotFound("There is no such tool result.")
    return archive.result_full, "whole"


def restored(account_id: UUID, messages: Sequence[Message], within: Within) -> Prepared:
    """Placeholders in the place of all that was loaded. Keeps nothing. Inside `acting`."""
    known = known_results(account_id, within, slots(messages))
    found = references(messages)
    rows = readable(account_id, within).briefly().in_bulk(list(found))
    parts = {pk: placeholder(row.told(), row.language) for pk, row in rows.items()}
    texts = {at: placeholder(row.told(), row.language) for at, row in known.items()}
    everything = {row.pk: row for row in (*known.values(), *rows.values())}
    return Prepared(
        messages=replaced(messages, {**texts, **filled(found, parts)}),
        archived=list(everything.values()),
        fresh=frozenset(),
        loaded=(),
    )
