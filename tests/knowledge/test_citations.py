"""A thousand citations: each is its text, byte for byte, and tells how its document moved on."""

from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from uuid import UUID

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Gone
from kmapp.search.variants import DEFAULT
from knowledge.actions.erasure import erase_document
from knowledge.models import KnowledgeChunk, KnowledgeDocument
from knowledge.retrieval.citations import Place, Quoted, citation_of, quote
from tests.agent import Agent
from tests.knowledge.corpus import corpus, paragraph
from tests.knowledge.made import deliver

NUMBER = 1_000
FILES = 60
OVER_HTTP = 40
Cited = dict[str, Any]


def _inserted(random: Random, text: str) -> str:
    """Somebody writes a paragraph, anywhere."""
    place = random.randrange(len(text))
    return text[:place] + paragraph(random) + text[place:]


def _cut_out(random: Random, text: str) -> str:
    start = random.randrange(len(text) // 2)
    return text[:start] + text[start + len(text) // 3 :]


def _same_line_ends_no_more(random: Random, text: str) -> str:
    return text.replace("\r\n", "\n") if "\r\n" in text else text.replace("\n", "\r\n")


EDITS: list[Callable[[Random, str], str]] = [
    lambda _, text: text,
    lambda _, text: "One more line.\n" + text,
    lambda _, text: text + "\nOne more line.",
    _inserted,
    _cut_out,
    _same_line_ends_no_more,
    lambda random, _: paragraph(random),
]


def drawn(account: Account, random: Random) -> list[tuple[Cited, str]]:
    """Citations of random chunks, and of random neighbours together, each with its text."""
    with acting(account):
        rows = KnowledgeChunk.objects.of(account).select_related("document__source", "text_row")
        chunks = list(rows.order_by("document__ref", "chunk_index"))
    found = []
    for _ in range(NUMBER):
        at = random.randrange(len(chunks))
        first = last = chunks[at]
        if random.random() < 0.3 and at + 1 < len(chunks):
            following = chunks[at + 1]
            last = following if following.document_id == first.document_id else first
        said = citation_of(first.document, first.text_row, first, last, DEFAULT.versions())
        found.append((said, first.text_row.text[first.start : last.end]))
    return found


def place_of(citation: Cited) -> Place:
    where = citation["locator"]
    return Place(
        document_id=UUID(citation["ref"]),
        sha256=where["sha"],
        start=where["start"],
        end=where["end"],
    )


def got(agent: Agent, citation: Cited, status: int = 200) -> Any:
    wanted = {name: citation[name] for name in ("ref", "locator")}
    return agent.post("knowledge/get", {"citation": wanted}, status)


def test_a_thousand_citations_are_their_texts_and_tell_every_drift(
    agent: Agent, acme: Account
) -> None:
    random = Random(5)  # noqa: S311 - the same each time
    before = corpus(random, FILES)
    deliver(acme, before)
    cited = drawn(acme, random)
    with acting(acme):
        for citation, text in cited:
            assert text in before[citation["locator"]["path"]]
            now = quote(acme.pk, place_of(citation))
            assert (now.text.encode(), now.current) == (text.encode(), True)

    after, removed, erased = edited(acme, random, before)
    seen = {"current": 0, "still there": 0, "changed": 0, "removed": 0, "erased": 0}
    with acting(acme):
        for citation, text in cited:
            path = citation["locator"]["path"]
            if path in erased:
                with pytest.raises(Gone):
                    quote(acme.pk, place_of(citation))
                seen["erased"] += 1
                continue
            now = quote(acme.pk, place_of(citation))
            assert now.text.encode() == text.encode()
            assert now.current == (path not in removed and after[path] == before[path])
            assert bool(now.document.removed_at) == (path in removed)
            assert now.still_there == (path not in removed and text in after[path])
            seen[drift(now)] += 1
    assert sum(seen.values()) == NUMBER
    assert all(number > NUMBER // 50 for number in seen.values()), seen
    for citation, text in cited[:OVER_HTTP]:
        path = citation["locator"]["path"]
        if path in erased:
            assert got(agent, citation, 410)["details"]["commit_id"] == erased[path]
        else:
            shown = got(agent, citation)
            assert shown["text"] == text
            assert (shown["moved"] is None) == shown["current"]


def drift(now: Quoted) -> str:
    if now.current:
        return "current"
    if now.document.removed_at:
        return "removed"
    return "still there" if now.still_there else "changed"


def edited(
    account: Account, random: Random, before: Mapping[str, str]
) -> tuple[dict[str, str], set[str], dict[str, str]]:
    """What every file says now, which were removed, and which erased, with the commit."""
    paths = list(before)
    random.shuffle(paths)
    removed, doomed, kept = set(paths[:8]), paths[8:16], paths[16:]
    after = {path: random.choice(EDITS)(random, before[path]) for path in kept}
    deliver(account, after, remove=sorted(removed))
    with acting(account):
        rows = KnowledgeDocument.objects.of(account).filter(ref__in=doomed)
        ids: dict[str, UUID] = dict(rows.values_list("ref", "pk"))
        erased = {path: str(erase_document(account.pk, pk, SYSTEM).id) for path, pk in ids.items()}
    return after, removed, erased
