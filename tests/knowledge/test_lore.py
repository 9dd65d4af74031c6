"""Lorebooks over the API and on their pages."""

import html
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from jsonschema import Draft202012Validator

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Invalid
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.lore.account_lorebooks import evaluate_entries, load_entries, split_messages
from knowledge.lore.lorebook_evaluation import TriggerSettings
from knowledge.lore.sillytavern import NoLorebook
from knowledge.lore.sillytavern import parse_entries as parse_sillytavern
from knowledge.models import KnowledgeSource, LorebookEntry
from tests import makers
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
MESSAGE = "A dragon of fire."
CARD = {"data": {"character_book": {"entries": [
    {"keys": ["tea"], "content": "Tea calms.", "insertion_order": 7, "enabled": True,
     "extensions": {"prevent_recursion": True}}
]}}}  # fmt: skip


@pytest.fixture
def lorebook(acme: Account) -> KnowledgeSource:
    with acting(acme):
        return ensure_source(acme.pk, SYSTEM, NewSource(name="book", kind="lorebook"))


def test_parses_sillytavern_exports() -> None:
    dragons, gold = parse_sillytavern(WORLD)
    assert dragons["keys"] == ["dragon", "龙"]
    assert (dragons["secondary_logic"], dragons["order"], dragons["sticky"]) == ("and_all", 5, 2)
    assert not dragons["recursable"]
    assert gold["regex"]
    assert not gold["enabled"]
    [tea] = parse_sillytavern(CARD)
    assert (tea["order"], tea["recursive"], tea["recursable"]) == (7, False, True)


@pytest.mark.parametrize("book", [None, [], {}, {"entries": 3}, {"data": {"character_book": 1}}])
def test_rejects_other_json(book: Any) -> None:
    with pytest.raises(NoLorebook):
        parse_sillytavern(book)


@pytest.mark.parametrize(
    "entry",
    [
        {"content": " ", "keys": ["a"]},
        {"content": "x"},
        {"content": "x", "keys": [""]},
        {"content": "x", "keys": ["(?=a)"], "regex": True},
        {"content": "x", "keys": ["a" * 501]},
        {"content": "x", "keys": ["a"], "budget_weight": -1.0},
    ],
)
def test_rejects_entries_that_cannot_fire(
    acme: Account, lorebook: KnowledgeSource, entry: dict[str, Any]
) -> None:
    with acting(acme), pytest.raises(Invalid):
        add_entries(lorebook, SYSTEM, [entry])


def test_messages_fire_entries(agent: Agent, acme: Account, lorebook: KnowledgeSource) -> None:
    with acting(acme):
        add_entries(lorebook, SYSTEM, parse_sillytavern(WORLD))
    body = {"messages": [MESSAGE]}
    answer = agent.post("knowledge/lorebook/evaluate", body)
    [snippet] = answer["results"]
    assert (snippet["text"], snippet["trust"]) == ("Dragons hoard gold.", "semi_trusted")
    assert answer["build_report"]["fired"][0]["match"] == "dragon"
    later = {"messages": [MESSAGE, "And then?"], "scan_depth": 1}
    stays = agent.post("knowledge/lorebook/evaluate", {**later, "state": answer["state"]})
    assert stays["build_report"]["fired"][0]["reason"] == "sticky"
    typed = {"content": [{"type": {}, "text": "x"}]}
    for invalid in (
        {"messages": "x"},
        {"messages": [1] * 501},
        {"messages": [typed]},
        {**body, "budget": -1},
    ):
        agent.post("knowledge/lorebook/evaluate", invalid, 400)


def test_lore_pages(reviewer: Client, acme: Account) -> None:
    assert "No lorebooks yet" in reviewer.get("/lore/").content.decode()
    file = SimpleUploadedFile("w.json", json.dumps(WORLD).encode())
    created = reviewer.post("/lore/new/", {"name": "World", "trust": "untrusted", "book": file})
    assert created.status_code == 302
    here = created.headers["Location"]
    assert "Dragons hoard gold." in reviewer.get(here).content.decode()
    with acting(acme):
        row = LorebookEntry.objects.of(acme).order_by("order")[0]
    entry = f"/lore/entries/{row.pk}/"
    page_text = reviewer.get(entry)
    seen = page_text.context["form"].initial.items()
    form = {name: value for name, value in seen if value is not None and value is not False}
    bad = reviewer.post(entry, {**form, "regex": "on", "keys": "(?=x)"})
    assert (bad.status_code, "RE2" in bad.content.decode()) == (422, True)
    long = reviewer.post(entry, {**form, "keys": f"dragon\n{'wyrm, ' * 100}"})
    assert (long.status_code, "keys.1: Ensure this value" in long.content.decode()) == (422, True)
    assert reviewer.post(entry, {**form, "content": "Wyrms wake."}).status_code == 302
    mine = {**form, "content": "<b>Wyrms</b> sleep."}
    late = reviewer.post(entry, mine)
    expected = ("Someone else changed this", "Wyrms&lt;/b&gt; sleep.", 'name="version" value="2"')
    assert (late.status_code, makers.missing(late.content.decode(), *expected)) == (422, [])
    assert reviewer.post(entry, {**mine, "version": 2}).status_code == 302
    tried = reviewer.post("/lore/bench/", {
        "conversation": "A dragon.\n\nIts fire.", "budget": 100, "scan_depth": 4
    }).content.decode()  # fmt: skip
    assert "&lt;b&gt;Wyrms" in tried
    for page in (tried, reviewer.get(here).content.decode(), reviewer.get(entry).content.decode()):
        assert "Untrusted" in page
    dry_run = {**form, "try": "1", "content": "Unsaved.", "sample": MESSAGE}
    for path in (entry, f"{here}new/"):
        assert "It fires on" in reviewer.post(path, dry_run).content.decode()
        assert (
            "It does not fire." in reviewer.post(path, {**dry_run, "sample": ""}).content.decode()
        )
        incomplete = reviewer.post(path, {**dry_run, "content": ""})
        assert "Complete the fields above" in incomplete.content.decode()
        short = reviewer.post(path, dry_run, headers={"HX-Request": "true"}).content.decode()
        assert "<form" not in short
        assert "It fires on" in short
    assert "Unsaved." not in reviewer.get(here).content.decode()
    assert f'href="{entry}erase/"' in reviewer.get(entry).content.decode()
    assert "Erase this entry?" in reviewer.get(f"{entry}erase/").content.decode()
    assert reviewer.get(entry).status_code == 200
    assert reviewer.post(f"{entry}erase/").status_code == 302
    assert reviewer.post(f"{here}erase/").status_code == 302
    assert "No lorebooks yet" in reviewer.get("/lore/").content.decode()


REFUSED_FILES = [
    (b"{", "Invalid JSON"),
    (b"[]", "Enter a JSON object"),
    (b"\xff", "cannot be stored"),
    (b'{"entries": [], "n": NaN}', "n: not a valid JSON value"),
    (b'{"entries": [], "entries": []}', "the key entries occurs twice"),
    (b'{"\\ud800": 1, "\\ud800": 2}', "the key ? occurs twice"),
    (b'{"entries": ' + b"[" * 100_000, "nested deeper than 64"),
    (b'{"entries": [{"keys": ["a"], "content": "\\ud800"}]}', "entries.0.content: contains a"),
    (b'{"entries": [{"keys": ["a"], "content": "\\u0000"}]}', "entries.0.content: contains a"),
    (b'{"entries": 3}', "has no “entries”"),
    (json.dumps(WORLD).replace("gold(en)?", "(?=gold)").encode(), "RE2"),
]


def test_rejected_file_creates_nothing(reviewer: Client, acme: Account) -> None:
    for book, why in REFUSED_FILES:
        file = SimpleUploadedFile("w.json", book)
        form = {"name": "World", "trust": "trusted", "book": file}
        refused = reviewer.post("/lore/new/", form)
        assert refused.status_code == 422, why
        assert why in html.unescape(refused.content.decode()), book[:60]
    assert not makers.rows(KnowledgeSource, acme)


def test_large_file_is_refused_before_it_is_read(
    reviewer: Client, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge.views.lore_forms.MAX_BOOK_BYTES", 10)
    monkeypatch.setattr("knowledge.views.lore.parse", None)
    book = SimpleUploadedFile("w.json", json.dumps(CARD).encode())
    refused = reviewer.post("/lore/new/", {"name": "Card", "trust": "trusted", "book": book})
    assert (refused.status_code, "“w.json” is too large" in refused.text) == (422, True)
    assert not makers.rows(KnowledgeSource, acme)


@pytest.mark.parametrize("kind", ["lorebook", "file_set"])
def test_name_of_an_existing_source_is_refused(reviewer: Client, acme: Account, kind: str) -> None:
    with acting(acme):
        ensure_source(acme.pk, SYSTEM, NewSource(name="Card", kind=kind))
    book = SimpleUploadedFile("w.json", json.dumps(CARD).encode())
    refused = reviewer.post("/lore/new/", {"name": "Card", "trust": "trusted", "book": book})
    assert refused.status_code == 422
    [message] = refused.context["form"].errors["name"]
    assert message == (
        "A lorebook or another source is already called “Card”. Choose another name."
    )
    assert not makers.rows(LorebookEntry, acme)
    [source] = makers.rows(KnowledgeSource, acme)
    assert source.kind == kind
    assert source.trust != "trusted"


def test_byte_order_mark_is_accepted(reviewer: Client, acme: Account) -> None:
    book = SimpleUploadedFile("w.json", json.dumps(CARD).encode("utf-8-sig"))
    created = reviewer.post("/lore/new/", {"name": "Card", "trust": "trusted", "book": book})
    assert created.status_code == 302
    assert makers.get(LorebookEntry, acme).content == "Tea calms."


def test_messages_are_split_at_blank_lines() -> None:
    messages = split_messages("A dragon.\r\nBig.\r\n\r\nIts fire.\n \n\nGone.\n")
    assert messages == ["A dragon.\r\nBig.", "Its fire.", "Gone."]
    assert split_messages(" \r\n\r\n ") == []


def test_sticky_and_cooldown_without_a_state(
    agent: Agent, acme: Account, lorebook: KnowledgeSource
) -> None:
    with acting(acme):
        stays = {"content": "It stays.", "keys": ["dragon"], "sticky": 2, "scan_depth": 1}
        rests = {"content": "It rests.", "keys": ["dragon"], "cooldown": 2, "scan_depth": 1}
        add_entries(lorebook, SYSTEM, [stays, rests])

    def fired(*messages: str) -> set[str]:
        with acting(acme):
            outcome = evaluate_entries(load_entries(acme.pk), messages, TriggerSettings())
        turns = [{"role": "user", "content": each} for each in messages]
        answer = agent.post("context/assemble", {"messages": turns, "sources": ["lore"]}, 201)
        cited = {each["ref"] for each in answer["context_cost"]["citations"]}
        assert cited == {each.entry.id for each in outcome.included}
        return {each.entry.content for each in outcome.included}

    assert fired("A dragon.") == {"It stays.", "It rests."}
    assert fired("A dragon.", "And?") == {"It stays."}
    assert fired("A dragon.", "And?", "A dragon?") == {"It stays."}
    assert fired("A dragon.", "And?", "So?", "Yes?") == set()
    assert fired("A dragon.", "And?", "So?", "A dragon!") == {"It stays.", "It rests."}


def test_schema_describes_parts_of_messages(agent: Agent) -> None:
    schema = agent.get("schema")
    request = schema["paths"]["/v1/knowledge/lorebook/evaluate"]["post"]["requestBody"]
    shape = request["content"]["application/json"]["schema"]
    validator = Draft202012Validator({**shape, "components": schema["components"]})
    parts: list[tuple[Any, bool]] = [
        (MESSAGE, True),
        ({"text": MESSAGE, "note": [1]}, True),
        ({"text": MESSAGE, "note": [2**53]}, False),
        ({"text": MESSAGE, "note": ["\0"]}, False),
        ({"text": 1}, False),
        ({"text": MESSAGE, "type": 1}, False),
        ({"type": "text"}, False),
        (None, False),
    ]
    for part, is_valid in parts:
        body = {"messages": [{"content": [part]}]}
        agent.post("knowledge/lorebook/evaluate", body, 200 if is_valid else 400)
        assert validator.is_valid(body) == is_valid, part
