"""Accounts as the owner of the installation manages them, and archived accounts."""

import pytest
from django.test import Client

from kmapp.accounts.account_administration import archive_account
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, Membership, User
from kmapp.ledger.models import Commit
from memory.models import MemoryEntry
from tests import makers
from tests.web.pages import HTMX, html, page
from tests.web.staff import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def boss(acme: Account) -> User:
    return staff(acme, "boss")


@pytest.fixture
def owner(boss: User) -> Client:
    return makers.signed_in(boss)


def reload(account: Account) -> Account:
    return makers.get(Account, account, pk=account.pk)


def test_owner_creates_an_account_and_works_in_it(owner: Client, boss: User) -> None:
    answer = owner.post("/accounts/new/", {"name": "研究部", "slug": ""}, follow=True)
    assert "研究部" in page(answer)
    [summary] = [one for one in owner.get("/accounts/").context["accounts"] if one.name == "研究部"]
    assert summary.slug.startswith("account-")
    account = Account(pk=summary.account_id)
    assert makers.get(Membership, account).user_id == boss.pk
    commits = sorted(makers.rows(Commit, account), key=lambda each: each.seq)
    assert [commit.actor for commit in commits] == [f"user:{boss.pk}"] * 2
    long = owner.post("/accounts/new/", {"name": "research " * 11, "slug": ""})
    assert long.status_code == 302
    repeated = owner.post("/accounts/new/", {"name": "Other", "slug": summary.slug})
    assert "Another account has this short name" in page(repeated, 422)


def test_only_the_owner_sees_accounts(admin: Client) -> None:
    assert "/accounts/" not in html(admin.get("/members/"))


def test_rename_is_in_the_ledger(owner: Client, acme: Account, boss: User) -> None:
    assert owner.post(f"/accounts/{acme.pk}/", {"name": "Acme Ltd"}).status_code == 302
    assert reload(acme).name == "Acme Ltd"
    commit = max(makers.rows(Commit, acme), key=lambda each: each.seq)
    assert (commit.actor, commit.diff[0]["op"]) == (f"user:{boss.pk}", "UPDATE")
    assert owner.post(f"/accounts/{acme.pk}/", {"name": ""}).status_code == 422


def test_owner_joins_an_account_of_others(owner: Client, boss: User, rival: Account) -> None:
    assert owner.post("/account/", {"account": str(rival.pk)}).status_code == 404
    assert owner.post(f"/accounts/{rival.pk}/join/").status_code == 302
    assert "Rival" in html(owner.get("/members/"))
    assert makers.get(Membership, rival).role == "admin"


@pytest.fixture
def archived(acme: Account, rival: Account) -> Account:
    makers.write(acme, "Tea is at four.")
    archive_account(acme.pk, actor=SYSTEM)
    return reload(acme)


def test_archived_account_is_read_only_for_people(
    archived: Account, admin: Client, ada: User, reviewer: Client
) -> None:
    before = makers.count(Commit, archived)
    for client in (admin, reviewer):
        assert "archived and read-only" in page(client.get("/memory/"))
        assert "Tea is at four." in html(client.get("/memory/"))
        assert client.post("/ledger/verify/").status_code == 200, "checks change nothing"
    entry = makers.rows(MemoryEntry, archived)[0]
    for path in ("/members/new/", "/keys/new/", f"/memory/{entry.pk}/pin/", "/rules/new/"):
        answer = admin.post(path, {"version": "1", "email": "x@example.test", "role": "admin"})
        assert "archived and read-only" in page(answer, 403), path
    assert makers.count(Commit, archived) == before


def test_archived_account_is_read_only_for_agents(acme: Account, rival: Account) -> None:
    agent = makers.agent(acme)
    archive_account(acme.pk, actor=SYSTEM)
    agent.post("memory/search", {"query": "tea"}, 200)
    agent.get("webhooks", 200)
    for path in ("memory/store", "knowledge/sources", "webhooks", "context/assemble"):
        assert agent.post(path, {"text": "New."}, 403)["error"] == "account_archived", path
    context = {"intent": "fetch"}
    agent.post("memory/rules/evaluate", {"context": context}, 200)
    selection = {"context": context, "candidates": ["bash"]}
    refused = agent.post("memory/tools/select", selection, 403)  # it would record a decision
    assert refused["error"] == "account_archived"


def test_archiving_says_what_it_hits_and_can_be_undone(
    owner: Client, acme: Account, boss: User, rival: Account
) -> None:
    makers.key(acme)
    confirmation = page(owner.get(f"/accounts/{acme.pk}/archive/"))
    assert makers.missing(confirmation, "1 member can read it", "1 active API key can recall") == []
    answer = owner.post(f"/accounts/{acme.pk}/archive/", follow=True)
    undo = f"/accounts/{acme.pk}/restore/"
    assert undo in page(answer)
    assert owner.post(f"/accounts/{acme.pk}/archive/").status_code == 409
    assert owner.post(undo, headers=HTMX).headers["HX-Redirect"] == "/accounts/"
    assert reload(acme).archived_at is None
    assert owner.post(undo).status_code == 409


def test_one_account_stays_in_use(owner: Client, acme: Account) -> None:
    assert owner.post(f"/accounts/{acme.pk}/archive/").status_code == 409


def test_members_start_in_an_account_in_use(
    archived: Account, rival: Account, ada: User, admin: Client
) -> None:
    with acting(rival):
        add_member(account_id=rival.pk, user=ada, role="editor", actor=SYSTEM)
    first = page(admin.get("/"))
    assert "Rival" in first
    assert "Acme" not in first, "hidden in the switcher"
