"""Hostile text in any field of any write endpoint is rejected, or stored and returned unchanged.

A rejection is a 400 with the standard error body. Stored text is equal code point for code point,
but for two intended changes: texts are normalised to NFC with newlines as line ends, and names are
stripped of surrounding white space.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from rest_framework.test import APIClient

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Note
from kmapp.text.terms import normalise
from tests import makers
from tests.agent import Agent
from tests.hostile import MARK, REFUSED, STORED, Hostile, build_body

pytestmark = pytest.mark.promise(32)

SHAPE = {"status", "error", "message", "detail", "details", "issues"}
# The text fields of a memory, and their maximum lengths.
TEXTS = {"text": 50_000, "title": 500, "raw_ref": 2000, "evidence_ref": 2000}
NAMES = dict.fromkeys(["client_id", "user_id", "agent_id", "app_id", "run_id", "scope"], 200)
LISTS = {"tags": 100, "entities": 200}
LENGTHS = {**TEXTS, **NAMES, **LISTS}
# Fields without free text, which reject every payload, even one that a text field would store.
NON_TEXT_FIELDS = ["id", "kind", "tier", "visibility", "importance", "confidence", "salience"]
NON_TEXT_FIELDS += ["half_life_days", "observed_at", "valid_from", "valid_to", "expires_at"]
NUMBERS = ("weight", "confidence", "decay_rate")
ENDS = {"src": {"client_id": "a"}, "dst": {"client_id": "b"}}
EDGE = {"type": "related_to", **ENDS}
Place = tuple[str, dict[str, Any]]


def _node(**more: Any) -> dict[str, Any]:
    return {"client_id": "a", "text": "ok", **more}


def _values(name: str) -> Iterator[Any]:
    """Yield values of the field that contain the payload, nested or alone."""
    if name in LISTS:
        yield [MARK]
    elif name == "metadata":
        yield from ({"a": MARK}, {"a": [{"b": MARK}]}, {MARK: 1})
    elif name == "sources":
        yield from ([{"a": MARK}], [{MARK: [1]}])
    yield MARK


def _nodes(names: Iterable[str]) -> Iterator[Place]:
    for name in names:
        for value in _values(name):
            yield "memory/write", {"nodes": [_node(), _node(**{"client_id": "b", name: value})]}
        yield "memory/store", _node(**{name: MARK})


def _batches() -> Iterator[Place]:
    nodes = [_node(), _node(client_id="b")]
    owner = ("user_id", "agent_id", "app_id", "run_id", "visibility", "scope")
    for name in (*owner, "actor", "input_text", "input_sha256", "auto_embed", "force_reembed"):
        yield "memory/write", {"nodes": nodes, name: MARK}
    for name in ("id", "type", *NUMBERS, *ENDS):
        yield "memory/write", {"nodes": nodes, "edges": [{**EDGE, name: MARK}]}
    for end in ENDS:
        for name in ("id", "client_id"):
            yield "memory/write", {"nodes": nodes, "edges": [{**EDGE, end: {name: MARK}}]}


def _others() -> Iterator[Place]:
    owner = ["id", *NAMES]
    for name in ["text", "title", "kind", "metadata", "tags", "version", "reason", *owner]:
        for value in _values(name):
            yield "memory/update", {"client_id": "here", "title": "new", name: value}
    for name in ["reason", *owner]:
        yield "memory/forget", {"client_id": "here", name: MARK}
        yield "memory/get", {"client_id": "here", name: MARK}
    for name in ["query", "kinds", "tags", "limit", "observed_after", *NAMES]:
        yield "memory/search", {"query": "ok", name: MARK}


FREE_TEXT_FIELDS = [*LENGTHS, "metadata", "sources"]
OTHER_PLACES = [*_nodes(NON_TEXT_FIELDS), *_batches(), *_others()]
ALL_PLACES = [*_nodes(FREE_TEXT_FIELDS), *OTHER_PLACES]
# All places share one parser, so each value is sent to a quarter of them; in `make long`, to all.
SHARES = [4, pytest.param(1, marks=pytest.mark.long)]


@pytest.fixture
def unredacted(acme: Account) -> Account:
    """An account that stores personal data unchanged."""
    makers.update(Account, acme, {"pk": acme.pk}, redact=[])
    return acme


@pytest.fixture
def written_entry(agent: Agent, unredacted: Account) -> dict[str, Any]:
    content = {"text": "ok", "client_id": "here", "user_id": "u"}
    return dict(agent.post("memory/store", content, 201))


def send(client: APIClient, path: str, body: bytes) -> Any:
    return client.post(f"/v1/{path}", body, content_type="application/json")


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("hostile", REFUSED, ids=lambda hostile: hostile.name)
def test_rejects_invalid_values(
    hostile: Hostile, share: int, agent: Agent, written_entry: dict[str, Any]
) -> None:
    errors = []
    for path, body in ALL_PLACES[REFUSED.index(hostile) % share :: share]:
        sent = build_body(hostile, body)
        if not hostile.raw and b"[]" in sent:
            continue  # an empty payload in a list gives an empty list, which is valid
        answer = send(agent.client, path, sent)
        content = answer.json()
        if answer.status_code != 400 or content.keys() != SHAPE or not content["issues"]:
            errors.append((path, body, answer.status_code, content))
    assert errors == []
    assert agent.post("memory/get", {"client_id": "here"})["version"] == written_entry["version"]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("hostile", STORED, ids=lambda hostile: hostile.name)
def test_no_hostile_value_is_an_error(
    hostile: Hostile, share: int, agent: Agent, written_entry: dict[str, Any]
) -> None:
    """Send each payload in the places that the next test does not cover."""
    errors = []
    for path, body in OTHER_PLACES[STORED.index(hostile) % share :: share]:
        answer = send(agent.client, path, build_body(hostile, body))
        content = answer.json()
        if answer.status_code in (200, 201, 404, 409, 410):
            continue
        if answer.status_code != 400 or content.keys() != SHAPE or not content["issues"]:
            errors.append((path, body, answer.status_code, content))
    assert errors == []


def _stored_form(name: str, text: str) -> str:
    if name == "text":
        return normalise(text)
    return normalise(text.strip()) if name in TEXTS else text.strip()


@pytest.mark.parametrize("hostile", STORED, ids=lambda hostile: hostile.name)
def test_storable_values_are_unchanged(hostile: Hostile, agent: Agent, unredacted: Account) -> None:
    text = hostile.text or ""
    fits = [name for name, longest in LENGTHS.items() if len(text) <= longest]
    content: dict[str, Any] = {"client_id": "a", "text": "ok"}
    content |= {name: [text] if name in LISTS else text for name in fits}
    content |= {"metadata": {text: [text, {text: text}]}, "sources": [{text: text}]}
    other = {"client_id": "b", "text": "ok", "scope": content.get("scope", "")}
    ends = {"src": {"client_id": content["client_id"]}, "dst": {"client_id": "b"}}
    body = {
        "nodes": [content, other],
        "edges": [{"type": "related_to", **ends}],
        "input_text": text,
    }
    written = agent.post("memory/write", body, 201)
    assert written["edges"][0]["src_id"] == written["nodes"][0]["id"]

    which = {"client_id": content["client_id"], "scope": content.get("scope", "")}
    got = agent.post("memory/get", which)
    assert got["id"] == written["nodes"][0]["id"]
    for name in fits:
        saved = _stored_form(name, text)
        assert got[name] == ([saved] if name in LISTS else saved), name
    assert (got["metadata"], got["sources"]) == (content["metadata"], content["sources"])

    news = {
        name: content[name] for name in ("text", "title", "metadata", "tags") if name in content
    }
    changed = agent.post("memory/update", {**which, **news, "kind": "preference", "reason": text})
    assert {name: changed[name] for name in news} == {name: got[name] for name in news}
    agent.post("memory/forget", {**which, "reason": text})
    versions = agent.get(f"memory/{got['id']}/history")["versions"]
    reason = normalise(text.strip())
    assert [each["reason"] for each in versions] == ["", reason, reason]
    assert [each["text"] for each in versions] == [got["text"]] * 3
    with acting(unredacted):
        inputs = Note.objects.filter(commit_id=written["commit_id"]).values_list("input", flat=True)
        assert list(inputs) == [normalise(text.strip())]
    agent.post("memory/search", {"query": text, "explain": True}, 200)
