"""Every edit of a commit is found in its chain."""

import hashlib
from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.ledger.chain import (
    EMPTY_CHAIN_HEAD,
    GENESIS_HASH,
    Head,
    Link,
    build_hash_prefix,
    compute_commit_hash,
    verify_links,
)

ACCOUNT = UUID(int=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
Chain = list[tuple[Link, str]]


def chain(length: int) -> Chain:
    links: Chain = []
    head = EMPTY_CHAIN_HEAD
    for seq in range(1, length + 1):
        link = Link(
            id=UUID(int=seq),
            account=ACCOUNT,
            seq=seq,
            parent_hash=head.commit_hash,
            actor="system",
            created_at=START + timedelta(seconds=seq),
            input_digest=f"{seq:064x}",
            diff=[{"object": f"memory.entry:{seq}", "op": "ADD", "digest": "a" * 64}],
        )
        links.append((link, compute_commit_hash(link)))
        head = Head(seq, compute_commit_hash(link))
    return links


def find_problems(links: Chain) -> list[tuple[int, str]]:
    return [(problem.seq, problem.kind) for problem in verify_links(links)]


def test_valid_chain_has_no_problems() -> None:
    assert chain(1)[0][0].parent_hash == GENESIS_HASH == "0" * 64
    assert find_problems(chain(20)) == []
    assert find_problems([]) == []


def test_format_1_never_changes() -> None:
    """The expected hash was computed with sha256sum from canonical JSON written by hand."""
    first, _ = chain(1)[0]
    assert (
        compute_commit_hash(first)
        == "b321212f08d9e733ebe377bb75c493d058b4e717762801cd5480f6d949b68b3f"
    )


def test_text_completed_by_the_database_has_the_hash_of_the_commit() -> None:
    link, stored = chain(2)[1]
    begun = build_hash_prefix(replace(link, seq=0, parent_hash=GENESIS_HASH))
    text = f'{begun}{link.parent_hash}","seq":{link.seq}}}'
    assert hashlib.sha256(text.encode()).hexdigest() == stored
    with pytest.raises(ValueError, match="ends with the hash of its parent"):
        build_hash_prefix(link)


def test_a_chain_can_be_verified_in_pages() -> None:
    links = chain(10)
    link, stored = links[4]
    assert list(verify_links(links[5:], after=Head(link.seq, stored))) == []
    assert [problem.kind for problem in verify_links(links[5:])] == ["gap", "parent"]


EDITS: dict[str, Callable[[Any], Any]] = {
    "format": lambda _: 2,
    "id": lambda _: UUID(int=99),
    "account": lambda _: UUID(int=2),
    "seq": lambda seq: seq + 100,
    "parent_hash": lambda _: "f" * 64,
    "actor": lambda _: "key:somebody-else",
    "created_at": lambda time: time + timedelta(microseconds=1),
    "input_digest": lambda _: "f" * 64,
    "diff": lambda diff: [{**diff[0], "op": "DELETE"}],
}


@pytest.mark.parametrize("column", [field.name for field in fields(Link)])
@pytest.mark.parametrize("place", [0, 4, 9])
def test_edit_of_any_column_is_reported(column: str, place: int) -> None:
    links = chain(10)
    link, stored = links[place]
    edited = replace(link, **{column: EDITS[column](getattr(link, column))})
    links[place] = (edited, stored)
    assert (edited.seq, "hash") in find_problems(links)


@given(st.integers(0, 9), st.sampled_from(sorted(set(EDITS) - {"account"})))
def test_rehashed_edit_breaks_the_next_link(place: int, column: str) -> None:
    links = [*chain(10), *chain(11)[10:]]
    link, _ = links[place]
    edited = replace(link, **{column: EDITS[column](getattr(link, column))})
    if column == "format":
        with pytest.raises(ValueError, match="format 2 is unknown"):
            compute_commit_hash(edited)
        return
    links[place] = (edited, compute_commit_hash(edited))
    assert (place + 2, "parent") in find_problems(links)


def test_edited_hash_is_reported() -> None:
    links = chain(3)
    links[1] = (links[1][0], "0" * 64)
    assert find_problems(links) == [(2, "hash"), (3, "parent")]


def test_missing_commit_is_reported() -> None:
    links = chain(5)
    del links[2]
    assert find_problems(links) == [(4, "gap"), (4, "parent")]


def test_swapped_commits_are_reported() -> None:
    links = chain(5)
    links[1], links[2] = links[2], links[1]
    assert {seq for seq, _ in find_problems(links)} == {2, 3, 4}


def test_commit_of_another_account_is_reported() -> None:
    links = chain(3)
    moved = replace(links[1][0], account=UUID(int=2))
    links[1] = (moved, compute_commit_hash(moved))
    assert (2, "account") in find_problems(links)


def test_unstorable_diff_is_reported_as_a_hash_problem() -> None:
    links = chain(2)
    links[0] = (replace(links[0][0], diff=[10**30]), links[0][1])
    assert find_problems(links) == [(1, "hash")]
