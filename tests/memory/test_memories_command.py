"""The memories command: tables and JSON."""

import json
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command

from kmapp.accounts.models import Account


def run(*words: str) -> str:
    out = StringIO()
    call_command("memories", *words, stdout=out)
    return out.getvalue()


def rows(*words: str) -> Any:
    return json.loads(run(*words, "--json"))


@pytest.fixture
def stored(acme: Account) -> str:
    [added] = rows("add", "The kiln fires at noon.", "--user", "u", "--tag", "pottery")
    return str(added["id"])


def test_commands_print_json(stored: str) -> None:
    assert rows("search", "kiln", "--user", "u")[0]["id"] == stored
    assert rows("search", "kiln", "--user", "v") == []
    assert [row["id"] for row in rows("list", "--tag", "pottery")] == [stored]
    [changed] = rows("update", stored, "The kiln fires at one.", "--reason", "Moved.")
    assert changed["content"] == "The kiln fires at one."
    assert rows("get", stored)[0]["tags"] == ["pottery"]
    rows("delete", stored)
    assert rows("search", "kiln", "--user", "u") == []
    events = [(row["event"], row["reason"]) for row in rows("history", stored)]
    assert events[1:] == [("UPDATE", "Moved."), ("FORGET", "")]


def test_add_stores_all_options(acme: Account) -> None:
    text = ("--agent", "a", "--kind", "skill", "--importance", "0.8", "--title", "Kilns")
    [added] = rows("add", "Glaze twice.", *text)
    [row] = rows("get", added["id"])
    assert (row["agent_id"], row["kind"], row["importance"]) == ("a", "skill", 0.8)
    assert [each["id"] for each in rows("list", "--agent", "a")] == [added["id"]]
    assert rows("search", "glaze", "--agent", "a")[0]["id"] == added["id"]
    assert rows("search", "glaze", "--agent", "b") == []
    with pytest.raises(CommandError, match="not from 0 to 1"):
        run("add", "Too much.", "--importance", "2")
    with pytest.raises(CommandError, match="kind"):
        run("add", "Unheard of.", "--kind", "bogus")


def test_table_is_aligned(stored: str) -> None:
    run("add", "窑炉中午点火，" * 20, "--user", "小红")
    lines = run("list").splitlines()
    assert lines[0].split() == ["id", "kind", "status", "user_id", "content"]
    assert len(lines) == 3
    assert "…" in lines[1]
    assert "The kiln fires at noon." in run("get", stored)
    assert run("list", "--kind", "skill").strip() == "Nothing."


def test_reports_a_missing_memory(acme: Account) -> None:
    for verb in ("get", "history", "delete"):
        with pytest.raises(CommandError, match="Memory not found"):
            run(verb, str(uuid4()))


@pytest.mark.parametrize("limit", ["-1", "0", "many"])
def test_limit_is_at_least_one(limit: str) -> None:
    for words in (("list",), ("search", "kiln")):
        with pytest.raises(CommandError, match="is not a whole number of at least 1"):
            run(*words, "--limit", limit)
