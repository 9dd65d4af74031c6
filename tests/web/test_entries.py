"""The list of memories and the page of one: found, corrected, forgotten, proven."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from memory.actions.entries import write
from memory.drafts import Batch, NewEntry
from memory.models import MemoryEntry


@pytest.fixture
def at_desk(client: Client, alice: User) -> Client:
    client.force_login(alice)
    return client


def remember(account: Account, *texts: str, **more: Any) -> list[MemoryEntry]:
    more = {"user_id": "u1"} | more
    with acting(account):
        batch = Batch(entries=[NewEntry(text=text, **more) for text in texts])
        return list(write(account_id=account.pk, actor=SYSTEM, batch=batch).entries)


def page(answer: Any) -> str:
    return str(answer.content.decode())


def test_words_find_memories_in_both_languages(at_desk: Client, acme: Account) -> None:
    remember(acme, "Lin likes oolong tea.", "林喜欢乌龙茶。", "Ben plays chess.")
    assert "oolong" in page(at_desk.get("/memory/", {"q": "oolong"}))
    assert "Ben" not in page(at_desk.get("/memory/", {"q": "oolong"}))
    assert "林喜欢" in page(at_desk.get("/memory/", {"q": "乌龙茶"}))


def test_filters_narrow_and_stand_in_the_address(at_desk: Client, acme: Account) -> None:
    remember(acme, "A fact.", kind="fact", tags=["red"])
    remember(acme, "An event.", kind="event", user_id="u2")
    for query, shown, hidden in [
        ({"kind": "fact"}, "A fact.", "An event."),
        ({"user_id": "u2"}, "An event.", "A fact."),
        ({"tag": "red"}, "A fact.", "An event."),
    ]:
        said = page(at_desk.get("/memory/", query))
        assert shown in said
        assert hidden not in said


def test_a_correction_is_a_version_that_can_be_taken_back(at_desk: Client, acme: Account) -> None:
    [entry] = remember(acme, "The gate opens at nine.")
    form = {"version": 1, "content": "The gate opens at ten.", "kind": "fact", "reason": "moved"}
    assert at_desk.post(f"/memory/{entry.pk}/edit/", form).status_code == 302
    said = page(at_desk.get(f"/memory/{entry.pk}/"))
    assert "<ins>ten</ins>" in said
    assert "moved" in said
    assert said.count("Verified") == 2
    back = at_desk.post(f"/memory/{entry.pk}/revert/", {"to": 1, "version": 2})
    assert back.status_code == 302
    with acting(acme):
        entry.refresh_from_db()
        assert (entry.content, entry.version) == ("The gate opens at nine.", 3)


def test_a_stale_correction_is_refused(at_desk: Client, acme: Account) -> None:
    [entry] = remember(acme, "One.")
    form = {"version": 1, "content": "Two.", "kind": "fact"}
    assert at_desk.post(f"/memory/{entry.pk}/edit/", form).status_code == 302
    assert at_desk.post(f"/memory/{entry.pk}/edit/", form).status_code == 409


def test_a_row_changed_by_hand_is_shown_as_broken(at_desk: Client, acme: Account) -> None:
    from memory.models import MemoryVersion

    [entry] = remember(acme, "True.")
    with acting(acme):
        version = MemoryVersion.objects.of(acme).get()
        version.state = {**version.state, "content": "False."}
        version.save()
    assert "Broken" in page(at_desk.get(f"/memory/{entry.pk}/"))


def test_forgetting_asks_first_and_is_kept_on_record(at_desk: Client, acme: Account) -> None:
    [entry] = remember(acme, "Old news.")
    assert "Forget 1 memory" in page(at_desk.get(f"/memory/{entry.pk}/forget/"))
    assert at_desk.post(f"/memory/{entry.pk}/forget/", {"version": 1}).status_code == 302
    assert "Forgotten" in page(at_desk.get(f"/memory/{entry.pk}/"))


def test_a_rivals_memory_is_not_there(at_desk: Client, rival: Account) -> None:
    [entry] = remember(rival, "Secret plan.")
    assert at_desk.get(f"/memory/{entry.pk}/").status_code == 404
    assert at_desk.post(f"/memory/{entry.pk}/pin/", {"version": "1"}).status_code == 404
    assert "Secret" not in page(at_desk.get("/memory/", {"q": "secret"}))


@pytest.mark.parametrize("path", ["/memory/", "/memory/?q=tea", "/memory/?status=active"])
def test_the_list_costs_the_same_however_long(
    at_desk: Client, acme: Account, path: str, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    remember(acme, *(f"Tea number {n}." for n in range(60)))
    with django_assert_max_num_queries(16):
        assert at_desk.get(path).status_code == 200


@pytest.mark.parametrize("odd", ["²", "x", "-1", "9" * 5000, ""])
def test_a_version_that_is_none_changes_nothing(at_desk: Client, acme: Account, odd: str) -> None:
    [entry] = remember(acme, "The gate opens at nine.")
    here = f"/memory/{entry.pk}"
    for deed in ("pin", "unpin", "forget", "revert"):
        form = {"version": odd, "to": "1"}
        assert at_desk.post(f"{here}/{deed}/", form).status_code == 400, deed
    assert at_desk.post(f"{here}/revert/", {"version": "1", "to": odd}).status_code == 404
    assert at_desk.post(f"/review/{entry.pk}/approve/", {"version": odd}).status_code == 400
    with acting(acme):
        assert MemoryEntry.objects.get(pk=entry.pk).version == 1


def test_a_reason_may_hold_anything(at_desk: Client, acme: Account) -> None:
    [entry] = remember(acme, "The gate opens at nine.")
    form = {"version": "1", "reason": "a\x00b"}
    assert at_desk.post(f"/memory/{entry.pk}/forget/", form).status_code == 302
