"""The stock admin: one account at a time, everything to be read, decisions by the real verbs."""

from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, AccountOwned, ApiKey, Membership, User
from kmapp.admin import AT_ONCE
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.models import Checkpoint, Commit
from kmapp.outbox.models import Delivery
from kmapp.providers.models import EmbeddingModel
from kmapp.search.models import TermPosting
from memory.actions.entries import write
from memory.drafts import Batch, End, NewEdge, NewEntry
from memory.models import ErasedEntry, MemoryEntry
from tests import makers

OURS = ("kmapp", "memory", "knowledge", "rules", "context")
MODELS = [
    model
    for model in apps.get_models()
    if model.__module__.partition(".")[0] in OURS and model is not TermPosting
]
IDS = [model._meta.label for model in MODELS]


def staff(account: Account, name: str, *, role: str = "admin") -> User:
    user = makers.member(account, name, role=role)
    User.objects.filter(pk=user.pk).update(is_staff=True, is_superuser=True)
    return user


@pytest.fixture
def at_desk(client: Client, acme: Account) -> Client:
    """Somebody of Acme's who may do everything there."""
    client.force_login(staff(acme, "boss"))
    return client


def fill(account: Account, number: int = 2) -> list[MemoryEntry]:
    """Rows of every kind, as many as that."""
    drafts = [
        NewEntry(text=f"{account.name} keeps thing {i}.", client_id=f"c{i}") for i in range(number)
    ]
    edges = [
        NewEdge(type="related_to", src=End(client_id=f"c{i}"), dst=End(client_id=f"c{i - 1}"))
        for i in range(1, number)
    ]
    with acting(account):
        key = makers.key(account)[0]
        written = write(
            account_id=account.pk,
            actor=SYSTEM,
            batch=Batch(entries=drafts, edges=edges, input="said", reason="told"),
        )
        for i, entry in enumerate(written.entries):
            common: dict[str, Any] = {"account": account}
            ErasedEntry.objects.create(
                erased_at=timezone.now(), commit_id=entry.commit_id, **common
            )
            Checkpoint.objects.create(
                seq=i, commit_hash="0" * 64, created_at=timezone.now(), key_id="k", **common
            )
            IdempotentRequest.objects.create(
                key_id=key.pk,
                idempotency_key=str(entry.pk),
                fingerprint="f",
                lease_token=entry.pk,
                lease_until=timezone.now(),
                expires_at=timezone.now(),
                **common,
            )
    return list(written.entries)


def address(model: type[Model], tail: str = "") -> str:
    return f"/admin/{model._meta.app_label}/{model._meta.model_name}/{tail}"


def page(answer: Any) -> str:
    return str(answer.content.decode())


# --- What it shows --------------------------------------------------------------------------------


def test_every_model_is_there() -> None:
    assert [model._meta.label for model in MODELS if not admin.site.is_registered(model)] == []
    assert len(MODELS) > 15


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_every_list_can_be_searched_filtered_and_dated(model: type[Model]) -> None:
    shown = admin.site.get_model_admin(model)
    assert shown.search_fields
    assert shown.date_hierarchy
    assert len(shown.list_display) > 2


@pytest.mark.parametrize("of_account", [True, False])
def test_lists_and_rows_open_and_others_rows_do_not(
    at_desk: Client, acme: Account, rival: Account, subtests: pytest.Subtests, *, of_account: bool
) -> None:
    makers.member(rival, "rita", role="admin")
    fill(acme)
    fill(rival)
    for model in MODELS:
        if issubclass(model, AccountOwned) != of_account:
            continue
        with subtests.test(model=model._meta.label):
            answer = at_desk.get(address(model))
            shown = [row.pk for row in answer.context["cl"].result_list]
            assert at_desk.get(address(model, f"{shown[0]}/change/")).status_code == 200
            assert at_desk.get(address(model), {"q": "a"}).status_code == 200
            if of_account:
                ours, theirs = keys(model, acme), keys(model, rival)
                assert set(shown) == ours
                stranger = at_desk.get(address(model, f"{theirs.pop()}/change/"))
                assert (stranger.status_code, stranger.headers["Location"]) == (302, "/admin/")


def keys(model: type[Model], account: Account) -> set[Any]:
    with acting(account):
        return set(model.objects.values_list("pk", flat=True))  # type: ignore[attr-defined]


def test_people_and_accounts_of_others_are_not_shown(
    at_desk: Client, acme: Account, rival: Account
) -> None:
    makers.member(rival, "rita", role="admin")
    assert "rita" not in page(at_desk.get(address(User)))
    accounts = at_desk.get(address(Account)).context["cl"].result_list
    assert [account.name for account in accounts] == ["Acme"]


def test_a_longer_list_needs_no_more_queries(
    at_desk: Client, acme: Account, subtests: pytest.Subtests
) -> None:
    fill(acme)
    few = {model: look(at_desk, model) for model in MODELS}
    fill(acme, 12)  # two of them are known
    for i in range(5):
        makers.member(acme, f"m{i}", role="reviewer")
    for model in MODELS:
        with subtests.test(model=model._meta.label):
            rows, queries = look(at_desk, model)
            assert rows > few[model][0] or model in (Account, EmbeddingModel)
            assert queries <= few[model][1]


def look(client: Client, model: type[Model]) -> tuple[int, int]:
    """How many rows a list shows, and how many queries it takes."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address(model))
    return len(answer.context["cl"].result_list), len(queries)


# --- What it lets people do -----------------------------------------------------------------------


def test_nothing_is_changed_around_the_ledger(
    at_desk: Client, acme: Account, subtests: pytest.Subtests
) -> None:
    fill(acme)
    for model in MODELS:
        with subtests.test(model=model._meta.label):
            shown = at_desk.get(address(model))
            pk = shown.context["cl"].result_list[0].pk
            assert "delete_selected" not in page(shown)
            for tail in ("add/", f"{pk}/change/") if model is not User else ():
                assert at_desk.post(address(model, tail), {}).status_code == 403
            assert at_desk.post(address(model, f"{pk}/delete/"), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    ("verb", "status", "pinned"),
    [
        ("approve", "active", False),
        ("reject", "rejected", False),
        ("pin", "proposed", True),
        ("forget", "forgotten", False),
    ],
)
def test_a_decision_is_a_version_and_a_commit(
    at_desk: Client, acme: Account, agent: Client, *, verb: str, status: str, pinned: bool
) -> None:
    written = agent.post("/v1/memory/store", {"text": "Tea."}, content_type="application/json")
    pk = written.json()["id"]
    decide(at_desk, MemoryEntry, verb, [pk])
    with acting(acme):
        entry = MemoryEntry.objects.of(acme).get(pk=pk)
        commit = Commit.objects.of(acme).get(pk=entry.commit_id)
    assert (entry.status, entry.pinned, entry.version) == (status, pinned, 2)
    assert commit.actor.startswith("user:")
    assert commit.diff[0]["op"] == verb.upper()


def decide(client: Client, model: type[Model], verb: str, pks: list[Any]) -> str:
    """Choose rows of a list, and what to do with them. Returns what was said."""
    body = {"action": verb, "_selected_action": pks}
    answer = client.post(address(model), body, follow=True)
    assert answer.status_code == 200
    return page(answer)


def test_what_is_refused_is_said_and_the_others_go_on(at_desk: Client, acme: Account) -> None:
    entries = fill(acme)  # active: nobody proposed them
    said = decide(at_desk, MemoryEntry, "approve", [entry.pk for entry in entries])
    assert "somebody may have decided first" in said
    assert "rows were changed" not in said
    assert "2 rows were changed." in decide(
        at_desk, MemoryEntry, "pin", [entry.pk for entry in entries]
    )


def test_too_many_at_a_time_are_refused(at_desk: Client, acme: Account) -> None:
    entries = fill(acme, AT_ONCE + 1)
    said = decide(at_desk, MemoryEntry, "forget", [entry.pk for entry in entries])
    assert f"at most {AT_ONCE}" in said
    with acting(acme):
        assert not MemoryEntry.objects.of(acme).filter(status="forgotten").exists()


def test_admins_revoke_keys_and_reviewers_cannot(client: Client, acme: Account) -> None:
    key, secret = makers.key(acme)
    client.force_login(staff(acme, "rev", role="reviewer"))
    assert 'value="revoke"' not in page(client.get(address(ApiKey)))
    decide(client, ApiKey, "revoke", [key.pk])
    headers = {"X-Api-Key": secret}
    assert Client().get("/v1/memory/commits", headers=headers).status_code == 200
    client.force_login(staff(acme, "boss"))
    decide(client, ApiKey, "revoke", [key.pk])
    assert Client().get("/v1/memory/commits", headers=headers).status_code == 401


def test_dead_letters_are_tried_again(at_desk: Client, acme: Account) -> None:
    fill(acme)
    with acting(acme):
        Delivery.objects.of(acme).update(failed_at=timezone.now(), attempts=8)
        pks = list(Delivery.objects.of(acme).values_list("pk", flat=True))
    assert "rows were changed" in decide(at_desk, Delivery, "try_again", pks)
    with acting(acme):
        assert not Delivery.objects.of(acme).dead().exists()


# --- Who gets in, and where -----------------------------------------------------------------------


def test_strangers_sign_in_at_the_one_place(client: Client, db: None) -> None:
    for path in ("/admin/", "/admin/login/"):
        answer = client.get(path, follow=True)
        assert answer.redirect_chain[-1][0] == "/sign-in/?next=/admin/"


def test_who_is_not_staff_is_told_so(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/admin/").status_code == 403
    assert client.get("/admin/login/", follow=True).status_code == 403


def test_staff_without_an_account_see_nothing(client: Client, db: None) -> None:
    user = User.objects.create_superuser("root", "root@example.test", makers.PASSWORD)
    client.force_login(user)
    answer = client.get("/admin/")
    assert answer.status_code == 403
    assert "not a member" in page(answer)


@pytest.fixture
def in_both(at_desk: Client, rival: Account) -> Client:
    boss = User.objects.get(username="boss")
    with acting(rival):
        add_member(account_id=rival.pk, user=boss, role="reviewer", actor=SYSTEM)
    return at_desk


def test_the_account_is_chosen_in_the_header(in_both: Client, rival: Account) -> None:
    fill(rival)
    assert in_both.get(address(MemoryEntry)).context["cl"].result_count == 0
    chosen = {"account": str(rival.pk), "next": "/admin/"}
    answer = in_both.post("/account/", chosen, follow=True)
    assert answer.redirect_chain == [("/admin/", 302)]
    assert f'<option value="{rival.pk}" selected>Rival</option>' in page(answer)
    assert in_both.get(address(MemoryEntry)).context["cl"].result_count == 2


def test_a_new_person_becomes_a_reviewer(at_desk: Client, acme: Account) -> None:
    body = {
        "username": "nia",
        "email": "nia@example.test",
        "usable_password": "true",
        "password1": "a long good password",
        "password2": "a long good password",
    }
    answer = at_desk.post(address(User, "add/"), body, follow=True)
    assert answer.status_code == 200
    with acting(acme):
        member = Membership.objects.of(acme).get(user__username="nia")
        assert member.role == "reviewer"
        assert Commit.objects.of(acme).get(pk=member.commit_id).actor.startswith("user:")


def test_staff_who_are_no_superusers_cannot_raise_themselves(client: Client, acme: Account) -> None:
    boss = staff(acme, "boss")
    clerk = staff(acme, "clerk")
    User.objects.filter(pk=clerk.pk).update(is_superuser=False)
    clerk.user_permissions.set(Permission.objects.filter(content_type__model="user"))
    client.force_login(User.objects.get(pk=clerk.pk))
    assert client.post(address(User, f"{boss.pk}/change/"), {}).status_code == 403
    assert client.post(address(User, f"{boss.pk}/password/"), {}).status_code == 403
    form = client.get(address(User, f"{clerk.pk}/change/")).context["adminform"].form
    assert "is_superuser" not in form.fields
    assert "email" in form.fields


def test_people_change_their_own_password(at_desk: Client) -> None:
    new = "another long good one"
    body = {"old_password": makers.PASSWORD, "new_password1": new, "new_password2": new}
    answer = at_desk.post("/admin/password_change/", body)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/password_change/done/")
    assert at_desk.get("/admin/").status_code == 200, "and stay signed in"
    assert User.objects.get(username="boss").check_password(new)


def test_the_way_out_is_the_same(at_desk: Client) -> None:
    assert at_desk.post("/admin/logout/").headers["Location"] == "/sign-in/"
    assert at_desk.get("/admin/").status_code == 302
