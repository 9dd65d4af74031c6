"""The demo shows each kind of thing once, through the product's own doors."""

import io

import pytest
from django.core.management import call_command

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.accounts.models import Account as AccountModel
from kmapp.ledger.models import Commit
from memory.models import MemoryEdge, MemoryEntry, MemoryVersion, Viewer
from memory.retrieval.search import Search, search
from tests import makers

Status = MemoryEntry.Status


def demo() -> str:
    out = io.StringIO()
    call_command("demo", stdout=out)
    return out.getvalue()


@pytest.fixture
def shown(acme: Account, ada: User) -> str:
    return demo()


def test_each_kind_of_thing_is_there(acme: Account, ada: User, shown: str) -> None:
    with acting(acme):
        rows = MemoryEntry.objects.of(acme)
        assert set(rows.values_list("status", flat=True)) == {"active", "proposed", "forgotten"}
        assert rows.filter(status=Status.PROPOSED).exclude(visibility="account").count() == 0
        flagged = {flag for each in rows.values_list("flags", flat=True) for flag in each}
        assert flagged >= {"instructions", "hidden_characters"}
        assert rows.filter(content__contains="[email]").count() == 1
        assert rows.filter(pinned=True).count() == 4
        assert rows.exclude(run_id="").values("run_id").distinct().count() == 4
        supersedes = MemoryEdge.objects.filter(type="supersedes").select_related("src", "dst")
        assert {(e.src.status, e.dst.status) for e in supersedes} == {("proposed", "active")}
        kinds = {actor.partition(":")[0] for actor in rows.values_list("created_by", flat=True)}
        assert kinds == {"key"}
        decided = MemoryVersion.objects.filter(event__in=["APPROVE", "PIN", "FORGET"])
        assert set(decided.values_list("actor", flat=True)) == {f"user:{ada.pk}"}


def test_it_says_what_it_made_and_where_to_look(acme: Account, shown: str) -> None:
    with acting(acme):
        total = MemoryEntry.objects.of(acme).count()
        waiting = MemoryEntry.objects.of(acme).awaiting_review().count()
    assert f"{total} memories are new in Acme, 0 were there already" in shown
    assert f"{waiting} proposals wait" in shown
    assert "/review/" in shown


def test_telling_it_again_changes_nothing(acme: Account, shown: str) -> None:
    with acting(acme):
        before = Commit.objects.count()
        forgotten = MemoryEntry.objects.filter(pinned=True)[0]
        MemoryEntry.objects.filter(pk=forgotten.pk).update(pinned=False)
    assert "0 memories are new in Acme" in demo()
    with acting(acme):
        assert Commit.objects.count() == before
        assert MemoryEntry.objects.filter(pinned=True).count() == 3


QUESTIONS = [
    ("which evening suits the pottery club?", "mira-tallow", "Thursdays"),
    ("除湿机报警怎么办", "shen-ji", "浮子"),
    ("what does a blue blinking kettle mean?", "jonas-quill", "blue"),
    ("伴手茶什么时候要送到", "gu-xiaoman", "二十六"),
]


def test_its_questions_are_answered(committed: str, acme: Account) -> None:
    demo()
    makers.settle()
    for question, user, wanted in QUESTIONS:
        found = search(acme.pk, Search(query=question, viewer=Viewer(user_id=user), limit=3))
        assert any(wanted in hit.entry.content for hit in found.hits), question


def test_without_a_person_the_product_decides(acme: AccountModel) -> None:
    demo()
    with acting(acme):
        decided = MemoryVersion.objects.filter(event="APPROVE")
        assert set(decided.values_list("actor", flat=True)) == {"system"}
