"""A thousand citations return their exact text and state how the document has changed."""

from collections.abc import Callable, Iterator, Mapping
from random import Random
from typing import Any
from uuid import UUID

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Gone
from kmapp.search.variants import DEFAULT_VARIANT
from knowledge.actions.erasure import erase_document
from knowledge.models import KnowledgeChunk, KnowledgeDocument
from knowledge.retrieval.citations import CitedSpan, CitedText, build_citation, load_cited_text
from tests.agent import Agent
from tests.knowledge.builders import deliver

SENTENCE = (
    "the harvest of oolong leaves was early this spring and every basket stood in shade "
    "until noon when buyers came up from the valley to taste weigh and argue about price "
    "naïve café"
)
ENGLISH = SENTENCE.split()
CHINESE = "今年春茶采摘很早每一篮都放在阴凉处等到中午山下买家上来品尝称重讨价还价水温时间香气"
ODD = [
    "😀",
    "👩‍🌾",
    "e\u0301",
    "𠮷野家",
    "\t",
    "\u00a0",
    "**bold**",
    "`code`",
    "<b>",
    "&amp;",
    "--",
]
ENDS = ["\n", "\n", "\n", "\r\n"]


def corpus(random: Random, number: int) -> dict[str, str]:
    """Return files of some thousand characters each, by name."""
    return {f"{i:03d}.{random.choice(('md', 'txt', 'py'))}": text(random) for i in range(number)}


def text(random: Random) -> str:
    end = random.choice(ENDS)
    return end.join(_lines(random))


def paragraph(random: Random) -> str:
    """Return a paragraph in English or Chinese that contains an unusual character."""
    if random.random() < 0.5:
        words = [random.choice(ENGLISH) for _ in range(random.randint(20, 120))]
        words.insert(random.randrange(len(words)), random.choice(ODD))
        return " ".join(words) + "."
    sentences = [
        "".join(random.choice(CHINESE) for _ in range(random.randint(8, 30)))
        for _ in range(random.randint(3, 12))
    ]
    return "。".join(sentences) + random.choice(ODD) + "。"


def _lines(random: Random) -> Iterator[str]:
    for section in range(random.randint(2, 8)):
        yield f"{'#' * random.randint(1, 3)} {random.choice(ENGLISH)} {section} {CHINESE[section]}"
        yield ""
        for _ in range(random.randint(1, 6)):
            yield paragraph(random)
            yield ""


NUMBER = 1_000
FILES = 60
OVER_HTTP = 40
Cited = dict[str, Any]


def _insert(random: Random, text: str) -> str:
    """Insert a paragraph at a random position."""
    position = random.randrange(len(text))
    return text[:position] + paragraph(random) + text[position:]


def _cut(random: Random, text: str) -> str:
    start = random.randrange(len(text) // 2)
    return text[:start] + text[start + len(text) // 3 :]


def _swap_line_ends(random: Random, text: str) -> str:
    return text.replace("\r\n", "\n") if "\r\n" in text else text.replace("\n", "\r\n")


EDITS: list[Callable[[Random, str], str]] = [
    lambda _, text: text,
    lambda _, text: "One more line.\n" + text,
    lambda _, text: text + "\nOne more line.",
    _insert,
    _cut,
    _swap_line_ends,
    lambda random, _: paragraph(random),
]


def sample_citations(account: Account, random: Random) -> list[tuple[Cited, str]]:
    """Return citations of random chunks, and of adjacent pairs, each with its text."""
    with acting(account):
        rows = KnowledgeChunk.objects.of(account).select_related("document__source", "text_row")
        chunks = list(rows.order_by("document__ref", "chunk_index"))
    results = []
    for _ in range(NUMBER):
        at = random.randrange(len(chunks))
        first = last = chunks[at]
        if random.random() < 0.3 and at + 1 < len(chunks):
            following = chunks[at + 1]
            last = following if following.document_id == first.document_id else first
        citation = build_citation(
            first.document, first.text_row, first, last, DEFAULT_VARIANT.versions()
        )
        results.append((citation, first.text_row.text[first.start : last.end]))
    return results


def place_of(citation: Cited) -> CitedSpan:
    where = citation["locator"]
    return CitedSpan(
        document_id=UUID(citation["ref"]),
        sha256=where["sha"],
        start=where["start"],
        end=where["end"],
    )


def get_citation(agent: Agent, citation: Cited, status: int = 200) -> Any:
    body = {"citation": {name: citation[name] for name in ("ref", "locator")}}
    return agent.post("knowledge/get", body, status)


def test_citations_return_their_text_and_document_state(agent: Agent, acme: Account) -> None:
    random = Random(5)  # noqa: S311 - the same each time
    before = corpus(random, FILES)
    deliver(acme, before)
    cited = sample_citations(acme, random)
    with acting(acme):
        for citation, text in cited:
            assert text in before[citation["locator"]["path"]]
            now = load_cited_text(acme.pk, place_of(citation))
            assert (now.text.encode(), now.current) == (text.encode(), True)

    after, removed, erased = change_files(acme, random, before)
    seen = {"current": 0, "still there": 0, "changed": 0, "removed": 0, "erased": 0}
    with acting(acme):
        for citation, text in cited:
            path = citation["locator"]["path"]
            if path in erased:
                with pytest.raises(Gone):
                    load_cited_text(acme.pk, place_of(citation))
                seen["erased"] += 1
                continue
            now = load_cited_text(acme.pk, place_of(citation))
            assert now.text.encode() == text.encode()
            assert now.current == (path not in removed and after[path] == before[path])
            assert bool(now.document.removed_at) == (path in removed)
            assert now.still_there == (path not in removed and text in after[path])
            seen[document_state(now)] += 1
    assert sum(seen.values()) == NUMBER
    assert all(number > NUMBER // 50 for number in seen.values()), seen
    for citation, text in cited[:OVER_HTTP]:
        path = citation["locator"]["path"]
        if path in erased:
            assert get_citation(agent, citation, 410)["details"]["commit_id"] == erased[path]
        else:
            cited_passage = get_citation(agent, citation)
            assert cited_passage["text"] == text
            assert (cited_passage["moved"] is None) == cited_passage["current"]


def document_state(now: CitedText) -> str:
    if now.current:
        return "current"
    if now.document.removed_at:
        return "removed"
    return "still there" if now.still_there else "changed"


def change_files(
    account: Account, random: Random, before: Mapping[str, str]
) -> tuple[dict[str, str], set[str], dict[str, str]]:
    """Edit, remove and erase files.

    Returns the new texts, the removed paths, and the commit id of each erased path.
    """
    paths = list(before)
    random.shuffle(paths)
    removed, to_erase, edited_paths = set(paths[:8]), paths[8:16], paths[16:]
    after = {path: random.choice(EDITS)(random, before[path]) for path in edited_paths}
    deliver(account, after, remove=sorted(removed))
    with acting(account):
        rows = KnowledgeDocument.objects.of(account).filter(ref__in=to_erase)
        ids: dict[str, UUID] = dict(rows.values_list("ref", "pk"))
        erased = {path: str(erase_document(account.pk, pk, SYSTEM).id) for path, pk in ids.items()}
    return after, removed, erased
