"""Lore over HTTP and on its pages: imported, edited with validation, tried, fired."""

import html
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.errors import Invalid
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.lore.evaluate import entries_of as rows_of
from knowledge.lore.evaluate import fire, messages_of
from knowledge.lore.sillytavern import NoLorebook, entries_of
from knowledge.lore.triggers import Rules
from knowledge.models import KnowledgeSource, LorebookEntry
from tests.agent import Agent

WORLD = {
    "entries": {
        "0": {
            "uid": 0, "key": ["dragon", "龙"], "keysecondary": ["fire"], "comment": "Dragons",
            "content": "Dragons hoard gold.", "selective": True, "selectiveLogic": 3, "order": 5,
            "constant": False, "disable": False, "excludeRecursion": True, "sticky": 2,
        },
        "1": {"uid": 1, "key": ["/gold(en)?/i"], "content": "Gold is heavy.", "disable": True},
    }
}  # fmt: skip
CARD = {"data": {"character_book": {"entries": [
    {"keys": ["tea"], "content": "Tea calms.", "insertion_order": 7, "enabled": True,
     "extensions": {"prevent_recursion": True}}
]}}}  # fmt: skip


def test_exports_of_sillytavern_are_read() -> None:
    dragons, gold = entries_of(WORLD)
    assert dragons["keys"] == ["dragon", "龙"]
    assert (dragons["secondary_logic"], dragons["order"], dragons["sticky"]) == ("and_all", 5, 2)
    assert not dragons["recursable"]
    assert gold["regex"]
    assert not gold["enabled"]
    [tea] = entries_of(CARD)
    assert (tea["order"], tea["recursive"], tea["recursable"]) == (7, False, True)


@pytest.mark.parametrize("book", [None, [], {}, {"entries": 3}, {"data": {"character_book": 1}}])
def test_what_is_no_lorebook_is_refused(book: Any) -> None:
    with pytest.raises(NoLorebook):
        entries_of(book)


@pytest.mark.parametrize(
    "entry",
    [
        {"content": " ", "keys": ["a"]},
        {"content": "x"},
        {"content": "x", "keys": [""]},
        {"content": "x", "keys": ["(?=a)"], "regex": True},
        {"content": "x", "keys": ["a"], "budget_weight": -1.0},
    ],
)
def test_what_could_never_fire_is_refused(acme: Account, entry: dict[str, Any]) -> None:
    with acting(acme):
        said = NewSource(name="book", kind="lorebook")
        source = ensure_source(acme.pk, SYSTEM, said)
        with pytest.raises(Invalid):
            add_entries(source, SYSTEM, [entry])


def test_a_conversation_calls_up_lore(agent: Agent, acme: Account) -> None:
    with acting(acme):
        source = ensure_source(acme.pk, SYSTEM, NewSource(name="book", kind="lorebook"))
        add_entries(source, SYSTEM, entries_of(WORLD))
    said = {"messages": ["A dragon of fire."]}
    answer = agent.post("knowledge/lorebook/evaluate", said)
    [snippet] = answer["results"]
    assert (snippet["text"], snippet["trust"]) == ("Dragons hoard gold.", "semi_trusted")
    assert answer["build_report"]["fired"][0]["match"] == "dragon"
    later = {"messages": ["A dragon of fire.", "And then?"], "scan_depth": 1}
    stays = agent.post("knowledge/lorebook/evaluate", {**later, "state": answer["state"]})
    assert stays["build_report"]["fired"][0]["reason"] == "sticky"
    for odd in ({"messages": "x"}, {"messages": [1] * 501}, {**said, "budget": -1}):
        agent.post("knowledge/lorebook/evaluate", odd, 400)


def test_the_pages_of_lore(client: Client, alice: User, acme: Account) -> None:
    client.force_login(alice)
    assert "No lorebooks yet" in client.get("/lore/").content.decode()
    file = SimpleUploadedFile("w.json", json.dumps(WORLD).encode())
    made = client.post("/lore/new/", {"name": "World", "trust": "untrusted", "book": file})
    assert made.status_code == 302
    here = made.headers["Location"]
    assert "Dragons hoard gold." in client.get(here).content.decode()
    with acting(acme):
        row = LorebookEntry.objects.of(acme).order_by("order")[0]
    entry = f"/lore/entries/{row.pk}/"
    shown = client.get(entry)
    seen = shown.context["form"].initial.items()
    form = {name: value for name, value in seen if value is not None and value is not False}
    bad = client.post(entry, {**form, "regex": "on", "keys": "(?=x)"})
    assert (bad.status_code, "RE2" in bad.content.decode()) == (422, True)
    assert client.post(entry, {**form, "content": "<b>Wyrms</b> sleep."}).status_code == 302
    assert client.post(entry, {**form, "content": "Late."}).status_code == 422
    tried = client.post("/lore/bench/", {
        "conversation": "A dragon.\n\nIts fire.", "budget": 100, "scan_depth": 4
    }).content.decode()  # fmt: skip
    assert "&lt;b&gt;Wyrms" in tried
    for told in (tried, client.get(here).content.decode(), client.get(entry).content.decode()):
        assert "Untrusted" in told
    said = {**form, "try": "1", "content": "Unsaved.", "sample": "A dragon of fire."}
    for path in (entry, f"{here}new/"):
        assert "It fires on" in client.post(path, said).content.decode()
        assert "It does not fire." in client.post(path, {**said, "sample": ""}).content.decode()
        assert (
            "Complete the fields above"
            in client.post(path, {**said, "content": ""}).content.decode()
        )
        short = client.post(path, said, headers={"HX-Request": "true"}).content.decode()
        assert "<form" not in short
        assert "It fires on" in short
    assert "Unsaved." not in client.get(here).content.decode()
    assert client.post(f"{entry}erase/").status_code == 302
    assert client.post(f"{here}erase/").status_code == 302
    assert "No lorebooks yet" in client.get("/lore/").content.decode()


@pytest.mark.parametrize(
    ("book", "why"),
    [
        (b"{", "Invalid JSON"),
        (b"[]", "Enter a JSON object"),
        (b"\xff", "cannot be stored"),
        (b'{"entries": [], "n": NaN}', "n: not a valid JSON value"),
        (b'{"entries": [], "entries": []}', "the key entries occurs twice"),
        (b'{"\\ud800": 1, "\\ud800": 2}', "the key ? occurs twice"),
        pytest.param(b'{"entries": ' + b"[" * 100_000, "nested deeper than 64", id="deep"),
        (b'{"entries": [{"keys": ["a"], "content": "\\ud800"}]}', "entries.0.content: contains a"),
        (b'{"entries": [{"keys": ["a"], "content": "\\u0000"}]}', "entries.0.content: contains a"),
        (b'{"entries": 3}', "has no “entries”"),
        (json.dumps(WORLD).replace("gold(en)?", "(?=gold)").encode(), "RE2"),
    ],
)
def test_a_refused_file_leaves_nothing_behind(
    client: Client, alice: User, acme: Account, book: bytes, why: str
) -> None:
    client.force_login(alice)
    said = {"name": "World", "trust": "trusted"}
    refused = client.post("/lore/new/", {**said, "book": SimpleUploadedFile("w.json", book)})
    assert refused.status_code == 422
    assert why in html.unescape(refused.content.decode())
    with acting(acme):
        assert not KnowledgeSource.objects.of(acme).exists()


def test_a_byte_order_mark_is_no_flaw(client: Client, alice: User, acme: Account) -> None:
    client.force_login(alice)
    book = SimpleUploadedFile("w.json", json.dumps(CARD).encode("utf-8-sig"))
    made = client.post("/lore/new/", {"name": "Card", "trust": "trusted", "book": book})
    assert made.status_code == 302
    with acting(acme):
        assert LorebookEntry.objects.of(acme).get().content == "Tea calms."


def test_browsers_break_lines_in_their_own_way() -> None:
    assert messages_of("A dragon.\r\nBig.\r\n\r\nIts fire.\n \n\nGone.\n") == [
        "A dragon.\r\nBig.",
        "Its fire.",
        "Gone.",
    ]
    assert messages_of(" \r\n\r\n ") == []


def test_what_stays_stays_without_a_state(agent: Agent, acme: Account) -> None:
    with acting(acme):
        source = ensure_source(acme.pk, SYSTEM, NewSource(name="book", kind="lorebook"))
        stays = {"content": "It stays.", "keys": ["dragon"], "sticky": 2, "scan_depth": 1}
        rests = {"content": "It rests.", "keys": ["dragon"], "cooldown": 2, "scan_depth": 1}
        add_entries(source, SYSTEM, [stays, rests])

    def told(*messages: str) -> set[str]:
        with acting(acme):
            outcome = fire(rows_of(acme.pk), messages, Rules())
        said = {each.entry.content for each in outcome.included}
        turns = [{"role": "user", "content": each} for each in messages]
        answer = agent.post("context/assemble", {"messages": turns, "sources": ["lore"]}, 201)
        cited = {each["ref"] for each in answer["context_cost"]["citations"]}
        assert cited == {each.entry.id for each in outcome.included}
        return said

    assert told("A dragon.") == {"It stays.", "It rests."}
    assert told("A dragon.", "And?") == {"It stays."}
    assert told("A dragon.", "And?", "A dragon?") == {"It stays."}
    assert told("A dragon.", "And?", "So?", "Yes?") == set()
    assert told("A dragon.", "And?", "So?", "A dragon!") == {"It stays.", "It rests."}
