"""The ledger on its page and over the API."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.conf import settings as project
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.chain import ChainProblem, Head, compute_commit_hash
from kmapp.ledger.models import Commit, Seal
from kmapp.ledger.signing import Statement, append_statements, load_signing_key, sign_statement
from kmapp.ledger.verify import STORED_BYTES, Claim, verify_claims
from kmapp.runtime.cache_backend import valkey_cache
from tests import makers
from tests.makers import missing
from tests.web.pages import HTMX


def sign(commit: Commit, commit_hash: str = "") -> None:
    """Store a checkpoint of this commit, with its own hash or another one."""
    statement = Statement(
        account=commit.account_id,
        seq=commit.seq,
        commit_hash=commit_hash or commit.commit_hash,
        created_at=timezone.now(),
    )
    key = load_signing_key(project.CHECKPOINT_KEY_FILE)
    append_statements(project.CHECKPOINT_FILE, [sign_statement(key, statement)])


def test_ledger_is_verified_on_its_page(reviewer: Client, acme: Account) -> None:
    makers.key(acme)
    assert "checked." in reviewer.post("/ledger/verify/").content.decode()
    with acting(acme):
        first = acme_commit(acme)
    assert reviewer.get(f"/ledger/{first}/").status_code == 200


def test_page_names_the_command_of_the_installation(reviewer: Client, settings: Settings) -> None:
    settings.COMMAND = "kmapp"
    page = reviewer.get("/ledger/summary/", headers=HTMX).content.decode()
    assert "Run kmapp checkpoint to create one." in page


def test_newest_commits_of_a_long_ledger_are_verified(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check also reads commits before the signed one, as far as it may."""
    for _each in range(3):
        makers.key(acme)
    with acting(acme):
        heads = list(Commit.objects.of(acme).order_by("seq"))
        signed = heads[-2]
        sign(signed)
    monkeypatch.setattr("kmapp.ledger.verify.MAX_COMMITS", 2)
    text = reviewer.post("/ledger/verify/").content.decode()
    assert missing(text, "2 commits checked.", f"only commits after {heads[-3].seq}") == []
    sign(signed, "0" * 64)
    assert "differs from the signed one" in reviewer.post("/ledger/verify/").content.decode()


def test_verification_of_a_long_ledger_is_bounded(
    reviewer: Client, agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a checkpoint the check starts at the first commit and stops early."""
    for _each in range(5):
        makers.key(acme)
    with acting(acme):
        heads = list(Commit.objects.of(acme).order_by("seq"))
    monkeypatch.setattr("kmapp.ledger.verify.MAX_COMMITS", 3)
    monkeypatch.setattr("kmapp.ledger.verify.BLOCK_COMMITS", 2)
    text = agent.get("/v1/memory/verify").json()
    assert (text["ok"], text["after"], text["commits"], text["rest"]) == (
        True,
        0,
        3,
        len(heads) - 3,
    )
    assert text["head"] == heads[2].commit_hash
    page = reviewer.post("/ledger/verify/").content.decode()
    assert missing(page, "3 commits checked.", "the check stopped at commit 3") == []

    for signed, after in ((0, 0), (-2, -4), (-1, -4)):
        with acting(acme):
            sign(heads[signed])
        text = agent.get("/v1/memory/verify").json()
        assert (text["after"], text["commits"]) == (heads[after].seq, heads[after].seq + 3)
        assert text["rest"] == heads[-1].seq - text["commits"]
        assert text["checkpoint"]["seq"] == heads[signed].seq


def test_verification_of_large_commits_is_bounded(
    agent: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        makers.write(acme, f"Memory {number}.", "Another one.")
    with acting(acme):
        heads = list(Commit.objects.of(acme).order_by("seq"))
    monkeypatch.setattr("kmapp.ledger.verify.BLOCK_BYTES", 1)
    text = agent.get("/v1/memory/verify").json()
    assert (text["ok"], text["commits"], text["rest"]) == (True, len(heads), 0)
    monkeypatch.setattr("kmapp.ledger.verify.MAX_BYTES", 1)
    text = agent.get("/v1/memory/verify").json()
    assert (text["ok"], text["after"], text["commits"]) == (True, 0, 1)
    assert text["rest"] == len(heads) - 1
    with acting(acme):
        sign(heads[-1])
        sized = Commit.objects.of(acme).annotate(size=STORED_BYTES).order_by("-seq")
        last, before = sized.values_list("size", flat=True)[:2]
    for max_bytes, after in ((1, -2), (last + before, -3)):
        monkeypatch.setattr("kmapp.ledger.verify.MAX_BYTES", max_bytes)
        text = agent.get("/v1/memory/verify").json()
        assert (text["after"], text["commits"]) == (heads[after].seq, heads[-1].seq)


@pytest.mark.parametrize("has_valkey", [True, False])
def test_verification_has_a_rate_limit(
    reviewer: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch, *, has_valkey: bool
) -> None:
    """Without Valkey too, because a person may want to check the ledger during its outage."""
    if not has_valkey:
        monkeypatch.setattr(valkey_cache, "run", lambda *_: None)
    settings.THROTTLES = {**settings.THROTTLES, "verify": 2}
    answers = [reviewer.post("/ledger/verify/") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "Too many checks." in answers[2].content.decode()
    assert int(answers[2].headers["Retry-After"]) > 0


def test_home_page_does_not_count_commits(reviewer: Client, acme: Account) -> None:
    makers.key(acme)
    makers.key(acme)
    with acting(acme):
        first, *later = Commit.objects.of(acme).order_by("seq")
        sign(first)
    with CaptureQueriesContext(connection) as query:
        answer = reviewer.get("/ledger/summary/", headers=HTMX)
    page = re.findall(r'<dd><a href="/ledger/">(\d+)</a>', answer.content.decode())
    assert page == [str(len(later)), str(1 + len(later))]
    of_commits = [each["sql"] for each in query if "ledger_commit" in each["sql"]]
    assert all("COUNT(" not in sql and "LIMIT 1" in sql for sql in of_commits)


def test_verification_holds_no_transaction(
    committed: str, reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []

    def broken(links: Iterable[Any], after: Head) -> Iterator[ChainProblem]:
        inside.append(connection.in_atomic_block)
        return (
            ChainProblem(link.seq, "hash", "differs from its sealed state") for link, _hash in links
        )

    monkeypatch.setattr("kmapp.ledger.verify.verify_links", broken)
    monkeypatch.setattr("kmapp.ledger.verify.BLOCK_COMMITS", 1)
    monkeypatch.setattr("kmapp.ledger.verify.MAX_PROBLEMS", 2)
    makers.key(acme)
    makers.key(acme)
    assert (
        reviewer.post("/ledger/verify/").content.decode().count("differs from its sealed state")
        == 2
    )
    assert inside == [False, False]


def test_invalid_page_number_is_ignored(reviewer: Client) -> None:
    for below in ("²", "x", "9" * 30, "-1"):
        assert reviewer.get("/ledger/", {"below": below}).status_code == 200, below


def test_changes_are_counted_in_the_list_and_paged_on_the_page_of_the_commit(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    makers.write(acme, "One.", "Two.", "Three.")
    with acting(acme):
        commits = list(Commit.objects.of(acme).order_by("-seq"))
        counted = list(Commit.objects.of(acme).with_change_counts().order_by("-seq"))
    for each, row in zip(commits, counted, strict=True):
        counts = Counter((one["op"], one["object"].partition(":")[0]) for one in each.diff)
        expected = [[*change, number] for change, number in counts.most_common(4)]
        assert row.change_counts == expected  # type: ignore[attr-defined]
        assert row.get_deferred_fields() == {"diff"}
    assert "× 3" in reviewer.get("/ledger/").content.decode()
    monkeypatch.setattr("kmapp.web.views.ledger.CHANGES_PER_PAGE", 2)
    newest, total = commits[0], len(commits[0].diff)
    for number, objects in ((1, newest.diff[:2]), (2, newest.diff[2:4])):
        text = reviewer.get(f"/ledger/{newest.pk}/", {"page": number}).content.decode()
        assert missing(text, f"of {total}</span>", *(one["object"] for one in objects)) == []
        assert text.count('data-label="Object"') == len(objects)
    assert "Newest" not in reviewer.get("/ledger/").content.decode()
    assert "Newest" in reviewer.get("/ledger/", {"below": newest.seq}).content.decode()


def add_malformed_commits(acme: Account, *diffs: Any) -> list[Commit]:
    """Store commits with these changes, which the product does not write."""
    with acting(acme):
        last_seq = Commit.objects.of(acme).last_seq()
        rows = [
            Commit(
                account_id=acme.pk,
                seq=last_seq + number,
                parent_hash=f"{number:064}",
                actor="system",
                created_at=timezone.now(),
                input_digest="0" * 64,
                diff=diff,
            )
            for number, diff in enumerate(diffs, start=1)
        ]
        for row in rows:
            row.commit_hash = compute_commit_hash(row.link())
            row.save(force_insert=True)
    return rows


def test_malformed_changes_are_marked_and_seal_nothing(reviewer: Client, acme: Account) -> None:
    change = {"object": "accounts.apikey:1", "op": "ADD", "digest": "0" * 64}
    diffs: tuple[Any, ...] = (
        {"op": "ADD"},
        "ADD",
        5,
        [],
        [7, "x", None],
        [{"op": "ADD"}],
        [change, "x"],
    )
    rows = add_malformed_commits(acme, *diffs)
    page = reviewer.get("/ledger/")
    assert page.status_code == 200
    assert page.content.decode().count("Broken") == len(diffs)
    for row in rows:
        text = reviewer.get(f"/ledger/{row.pk}/").content.decode()
        assert missing(text, "Broken", "Differs from its sealed state") == [], row.diff
        assert text.count('data-label="Object"') == int(row is rows[-1]), row.diff
        with acting(acme):
            Seal.objects.create(
                account_id=acme.pk,
                commit=row,
                object_type="accounts.apikey",
                object_id=row.pk,
                op="ADD",
                salt=b"0" * 16,
            )
            claims = [Claim(commit_id=row.pk, state={})]
            proofs = verify_claims(acme.pk, "accounts.apikey", row.pk, claims)
        assert not proofs[row.pk].is_sealed, row.diff


def acme_commit(acme: Account) -> str:
    return str(Commit.objects.of(acme).order_by("seq").values_list("pk", flat=True)[0])
