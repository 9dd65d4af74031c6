"""Export and import of JSON lines."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from memory.actions.derived_edges import build_derived_edge
from memory.actions.review import forget, pin
from memory.models import MemoryEdge, MemoryEntry, MemoryVersion
from memory.transfer.export import count_lines
from tests import makers
from tests.agent import Agent
from tests.databases import clone, drop, use_database

NODES: list[dict[str, object]] = [
    {"client_id": "a", "text": "The cat sleeps.", "user_id": "u", "run_id": "r"},
    {"client_id": "b", "text": "猫在睡觉。", "user_id": "u", "run_id": "r", "title": "猫"},
    {"client_id": "c", "text": "Offices close at six.", "tags": ["office"], "importance": 1},
    {"text": "No client id.", "user_id": "u", "metadata": {"n": 0.5, "deep": [{"a": None}]}},
]
EDGES = [{"type": "related_to", "src": {"client_id": "a"}, "dst": {"client_id": "b"}}]


command = partial(makers.run_command, "memories")


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def put(path: Path, *values: Any) -> Path:
    path.write_text("\n".join(v if isinstance(v, str) else json.dumps(v) for v in values))
    return path


@pytest.fixture
def written(agent: Agent, acme: Account) -> None:
    agent.post("memory/write", {"input_text": "talk", "nodes": NODES, "edges": EDGES}, 201)
    with acting(acme):
        for client_id, decide in (("a", pin), ("b", forget)):
            entry = MemoryEntry.objects.get(client_id=client_id)
            decide(makers.decision(entry))


@pytest.fixture
def elsewhere(committed: str) -> Iterator[str]:
    """A second, empty database."""
    name = f"{committed}_elsewhere"
    clone(name)
    yield name
    use_database(committed)
    drop(name)


def test_export_and_import_preserve_everything(
    elsewhere: str, acme: Account, agent: Agent, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    turn = {"user_id": "v", "run_id": "turns", "observed_at": "2026-01-01T00:00:00Z"}
    # All turns have the same instant, so only the ledger has their order.
    for text in ("One.", "Two.", "Three."):
        agent.store(text, **turn)
    request.getfixturevalue("written")
    out, again = tmp_path / "out.jsonl", tmp_path / "again.jsonl"
    command("export", str(out))
    use_database(elsewhere)
    there = makers.account("Acme")
    assert there.pk != acme.pk
    result = command("import", str(out))
    assert result.startswith("7 memories and 1 edges are new here, 0 were here already.")
    command("export", str(again))
    assert again.read_bytes() == out.read_bytes()
    assert count_lines(there.pk) == len(out.read_text().splitlines())

    makers.settle()
    with acting(there):
        rows = MemoryEntry.objects.exclude(run_id="turns")
        assert set(rows.values_list("client_id", "status", "version", "pinned")) == {
            ("a", "active", 2, True),
            ("b", "forgotten", 2, False),
            ("c", "proposed", 1, False),
            (None, "active", 1, False),
        }
        versions = MemoryVersion.objects.filter(entry__client_id="a")
        assert [v.version for v in versions] == [2]
        assert versions[0].state["pinned"] is True
        assert Commit.objects.filter(pk=versions[0].commit_id).exists()
        assert MemoryEdge.objects.filter(type="related_to", origin="written").count() == 1
        # The worker derives the edges again; a forgotten turn is not part of the order.
        edges = MemoryEdge.objects.filter(type="next").select_related("src", "dst")
        assert {(e.src.content, e.dst.content) for e in edges} == {
            ("One.", "Two."),
            ("Two.", "Three."),
        }
    makers.check_ledger()
    check_client_ids(makers.agent(there), lines(out))


def check_client_ids(agent: Agent, imported: list[dict[str, Any]]) -> None:
    """Check that client ids refer to the imported memories, whose ids are not derived from them."""
    again = agent.post("memory/write", {"nodes": NODES[:2]}, 200)
    assert {node["id"] for node in again["nodes"]} == {
        line["id"] for line in imported if line.get("client_id") in ("a", "b")
    }
    other = {**NODES[0], "text": "The cat is awake."}
    refused = agent.post("memory/write", {"nodes": [other]}, 409)
    assert refused["error"] == "client_id_conflict"


def test_importing_twice_changes_nothing(written: None, acme: Account, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command("export", str(out))
    before = makers.count(Commit, acme)
    assert command("import", str(out)).startswith(
        "0 memories and 0 edges are new here, 5 were here already."
    )
    assert makers.count(Commit, acme) == before


def test_imported_edge_replaces_a_derived_one(acme: Account, tmp_path: Path) -> None:
    src, dst = makers.write(acme, "The cat sleeps.", "The cat is asleep.", user_id="u")
    with acting(acme):
        build_derived_edge(acme.pk, src.pk, dst.pk, "related_to", weight=0.2).save()
    edge = {"object": "edge", "src_id": str(src.pk), "dst_id": str(dst.pk), "type": "related_to"}
    path = put(tmp_path / "in.jsonl", {**edge, "weight": 0.9})
    assert command("import", str(path)).startswith("0 memories and 1 edges are new here")
    written = makers.get(MemoryEdge, acme)
    assert (written.origin, written.weight) == ("written", 0.9)


def test_export_contains_no_embeddings(written: None, tmp_path: Path) -> None:
    makers.settle()
    out = tmp_path / "out.jsonl"
    command("export", str(out))
    assert "embedding" not in out.read_text()


BAD = [
    ('{"text": ', "is not JSON"),
    ("[]", "is not a JSON object"),
    ({"text": " "}, "text: is empty"),
    ({"text": "x", "txet": "y"}, "txet: unknown field"),
    ({"text": "x", "importance": 2}, "importance: Ensure this value is less"),
    ({"text": "x", "importance": True}, "importance: invalid value"),
    ({"text": 5}, "text: invalid value"),
    ({"text": "x", "metadata": []}, "metadata: invalid value"),
    ({"text": "x", "kind": "rumour"}, "kind: Value 'rumour' is not a valid choice"),
    ({"text": "x", "observed_at": "then"}, "observed_at: “then” value has an invalid"),
    ({"text": "x", "observed_at": "2026-01-01T10:00:00"}, "observed_at: is a time without a time"),
    ({"text": "x", "observed_at": "0001-01-01T01:00:00+02:00"}, "observed_at: is a time outside"),
    ({"text": "x", "tags": [1]}, "tags: "),
    ('{"text": "x", "importance": NaN}', "importance: is not a finite number"),
    ('{"text": "a\\u0000b"}', "text: contains a NUL character"),
    ('{"text": "\\ud800"}', "text: contains a lone surrogate"),
    ('{"text": ' + "[" * 5000, "is nested too deeply"),
    ({"object": "rule", "text": "x"}, "object: rule is nothing we know"),
    (
        {
            "object": "edge",
            "type": "next",
            "src_id": str(Account().pk),
            "dst_id": str(Account().pk),
        },
        "src_id: entry",
    ),
]


def test_invalid_lines_are_reported(acme: Account, tmp_path: Path) -> None:
    values = [{"text": "Good."}, *(bad for bad, _ in BAD), {"text": "Good too."}]
    path, problems = put(tmp_path / "in.jsonl", *values), tmp_path / "problems"
    with pytest.raises(CommandError, match="19 lines were not imported; all others were"):
        command("import", str(path), f"--problems={problems}")
    reported = problems.read_text().splitlines()
    for number, (line, (bad, reason)) in enumerate(zip(reported, BAD, strict=True), start=2):
        assert line.startswith(f"line {number}: {reason}"), bad
    with acting(acme):
        assert set(MemoryEntry.objects.values_list("content", flat=True)) == {"Good.", "Good too."}


def test_conflicting_line_changes_nothing(written: None, acme: Account, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    command("export", str(out))
    path = put(
        tmp_path / "in.jsonl",
        *[
            line | {"text": "Changed."} if line.get("client_id") == "a" else line
            for line in lines(out)
        ],
    )
    problems = tmp_path / "problems"
    with pytest.raises(CommandError, match="1 lines"):
        command("import", str(path), f"--problems={problems}")
    assert problems.read_text().endswith("is here already with another text\n")
    assert makers.get(MemoryEntry, acme, client_id="a").content == "The cat sleeps."


def test_rejects_ids_in_use(written: None, acme: Account, rival: Account, tmp_path: Path) -> None:
    out, problems = tmp_path / "out.jsonl", tmp_path / "problems"
    command("export", "--account=acme", str(out))
    path = put(tmp_path / "in.jsonl", *lines(out), {"text": "Rival's own."})
    with pytest.raises(CommandError, match="5 lines"):
        command("import", "--account=rival", str(path), f"--problems={problems}")
    assert problems.read_text().count("used by another account") == 4
    assert makers.get(MemoryEntry, rival).content == "Rival's own."


def test_reports_a_client_id_in_use(written: None, acme: Account, tmp_path: Path) -> None:
    in_use = {"id": str(Account().pk), "client_id": "a", "text": "Another cat."}
    problems = tmp_path / "problems"
    with pytest.raises(CommandError, match="1 lines"):
        command("import", str(put(tmp_path / "in", in_use)), f"--problems={problems}")
    assert "client_id a belongs to" in problems.read_text()


def test_reports_an_erased_client_id(agent: Agent, acme: Account, tmp_path: Path) -> None:
    pk = agent.store("The cat sleeps.", client_id="a")
    ticket = agent.post("memory/erase", {"ids": [pk]})["confirm_token"]
    agent.post("memory/erase", {"ids": [pk], "confirm_token": ticket}, 200)
    erased = {"id": str(Account().pk), "client_id": "a", "text": "The cat sleeps."}
    problems = tmp_path / "problems"
    with pytest.raises(CommandError, match="1 lines"):
        command("import", str(put(tmp_path / "in", erased)), f"--problems={problems}")
    assert "client_id a was erased here" in problems.read_text()
    assert not makers.rows(MemoryEntry, acme)


def test_handwritten_lines_need_only_a_text(acme: Account, tmp_path: Path) -> None:
    path = put(tmp_path / "in", {"text": "Lin likes tea.", "user_id": "lin"}, "", {"text": "All."})
    assert command("import", str(path)).startswith("2 memories")
    assert command("import", str(path)).startswith("0 memories and 0 edges are new here, 2 were")
    with acting(acme):
        rows = MemoryEntry.objects.values_list("content", "kind", "status", "visibility")
        assert set(rows) == {
            ("Lin likes tea.", "fact", "active", "user"),
            ("All.", "fact", "active", "account"),
        }


def test_imports_are_redacted(acme: Account, tmp_path: Path) -> None:
    path = put(tmp_path / "in", {"text": "Write to lin.xu@example.com.", "user_id": "lin"})
    command("import", str(path))
    command("import", str(path))
    assert "example.com" not in makers.get(MemoryEntry, acme).content


def test_rejects_another_format_version(acme: Account, tmp_path: Path) -> None:
    path = put(tmp_path / "in", {"object": "memories", "format": 2}, {"text": "Good."})
    with pytest.raises(CommandError, match="This is format 2; we read format 1"):
        command("import", str(path))
    assert not makers.rows(MemoryEntry, acme)


def test_reports_a_missing_file(acme: Account, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file"):
        command("import", str(tmp_path / "nothing"))


def test_failed_export_has_no_file(
    written: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(account_id: object) -> Iterator[bytes]:
        yield b"{}\n"
        raise RuntimeError

    monkeypatch.setattr("memory.management.commands.memories.export_account", fail)
    with pytest.raises(RuntimeError):
        command("export", str(tmp_path / "out.jsonl"))
    assert not (tmp_path / "out.jsonl").exists()
