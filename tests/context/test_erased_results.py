"""Erasure of a tool result removes its copies in recorded calls, and nothing else."""

from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from context.actions import backfill_lookup_keys
from context.actions.archives import erase_archives
from context.assembly.tool_result_trimming import soft_trim
from context.jobs.tasks import delete_expired_archives
from context.models import ContextBody, ContextInput, ContextSummary, ToolResultArchive
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.api.models import IdempotentRequest
from tests import makers
from tests.agent import Agent
from tests.context.builders import call, talk, tool_turn

SECRET = "The safe opens with a sparrow. " * 10


def conversation(result: str, name: str = "search_manual") -> list[dict[str, Any]]:
    messages = tool_turn(0, "How does the safe open?", result)
    messages[1]["tool_calls"][0]["function"]["name"] = name
    return [*messages, {"role": "user", "content": "And the gate?"}]


def loaded_part(archived: Any, text: str) -> list[dict[str, Any]]:
    messages = conversation(text, "load_tool_history")
    arguments = f'{{"uuid": "{archived["archive"]["uuid"]}"}}'
    messages[1]["tool_calls"][0]["function"]["arguments"] = arguments
    return messages


def archive_result(agent: Agent, text: str = SECRET, **more: Any) -> Any:
    result = {"tool_name": "search_manual", "result": text, "threshold": 0}
    return agent.post("tool-results", {**result, "conversation_id": "c1", **more}, 201)


def assemble(agent: Agent, messages: Any, **more: Any) -> Any:
    body = {"messages": messages, "conversation_id": "c1", "sources": [], **more}
    return agent.post(
        "context/assemble", body, 201, **{"Idempotency-Key": str(more.get("user_id"))}
    )


def erase_all(account: Account, **which: Any) -> None:
    with acting(account):
        rows = list(ToolResultArchive.objects.of(account).filter(**which))
        assert rows
        erase_archives(account.pk, SYSTEM, rows, reason="asked for")


def count_bodies(account: Account, word: str) -> int:
    return makers.count(ContextBody, account, text__contains=word)


def test_call_cannot_be_replayed_after_erasure(agent: Agent, acme: Account) -> None:
    archive_result(agent)
    calls, other = assemble(agent, conversation(SECRET)), assemble(agent, talk(1), user_id="u")
    assert (count_bodies(acme, "sparrow"), count_bodies(acme, "kiln") > 0) == (1, True)
    erase_all(acme)
    assert count_bodies(acme, "sparrow") == 0
    assert count_bodies(acme, "How does the safe open?") == 1
    for each, status in ((calls, 410), (other, 200)):
        agent.post(f"context/reports/{each['report_id']}/replay", {}, status)
        report = agent.get(f"context/reports/{each['report_id']}")
        assert (report["inputs_expire_at"] is None) == (status == 410)
    with acting(acme):
        answers = IdempotentRequest.objects.of(acme)
        assert not answers.filter(answer__contains="sparrow").exists()
        assert answers.filter(answer__contains="kiln").count() == 1


def test_rest_of_the_call_is_erased_with_the_user(agent: Agent, acme: Account) -> None:
    archive_result(agent, user_id="ann")
    assemble(agent, conversation(SECRET), user_id="ann")
    erase_all(acme)
    assert count_bodies(acme, "How does the safe open?") == 1
    agent.erase(user_id="ann")
    assert count_bodies(acme, "How does the safe open?") == 0


@pytest.mark.parametrize("form", ["placeholder", "loaded"])
def test_placeholders_and_loaded_parts_are_erased(agent: Agent, acme: Account, form: str) -> None:
    archived = archive_result(agent)
    messages = conversation(archived["content"])
    if form == "loaded":  # the arguments of the load call name the archive
        messages = loaded_part(archived, "with a sparrow")
    assemble(agent, messages)
    assert count_bodies(acme, "sparrow") == 1
    erase_all(acme)
    assert count_bodies(acme, "sparrow") == 0


def test_archives_of_loaded_parts_are_erased(agent: Agent, acme: Account) -> None:
    archived = archive_result(agent, SECRET * 21)
    messages = loaded_part(archived, SECRET * 20)
    policy = {"protected_turns": 1, "prune": ["hard_clear"]}
    call(acme, messages, window=1_000, reserve=100, policy=policy)
    assert makers.count(ToolResultArchive, acme, tool_name="load_tool_history") == 1
    erase_all(acme, tool_name="search_manual")
    assert makers.count(ToolResultArchive, acme) == 0
    assert count_bodies(acme, "sparrow") == 0


def test_archives_of_another_person_stay(agent: Agent, acme: Account) -> None:
    archived = archive_result(agent, user_id="ann")
    load = {"tool_name": "load_tool_history", "tool_input": {"uuid": archived["archive"]["uuid"]}}
    for person in ("ann", "bob"):
        archive_result(agent, f"Read by {person}.", user_id=person, **load)
    erase_all(acme, tool_name="search_manual")
    assert [row.user_id for row in makers.rows(ToolResultArchive, acme)] == ["bob"]


def test_trimmed_results_are_erased(agent: Agent, acme: Account) -> None:
    """The lookup key is found behind many other ids."""
    archive = UUID(archive_result(agent)["archive"]["uuid"])
    listing = "".join(f"{uuid4()} is a sparrow.\n" for _ in range(100))
    trimmed = soft_trim(listing, head=1_500, tail=100, language="en", archive=archive)
    assert trimmed.index(str(archive)) > 1_000
    assemble(agent, conversation(trimmed))
    assert count_bodies(acme, "sparrow") == 1
    erase_all(acme)
    assert count_bodies(acme, "sparrow") == 0


def test_redacted_copies_are_erased(agent: Agent, acme: Account) -> None:
    text = f"{SECRET} ada@example.test knows."
    archive = archive_result(agent, text)["archive"]["uuid"]
    loaded = agent.get(f"tool-results/{archive}", conversation_id="c1")["content"]
    assert loaded != text
    for each in (text, loaded):
        assemble(agent, conversation(each), user_id=str(len(each)))
    assert count_bodies(acme, "sparrow") == 1 + (len(loaded) != len(text))
    erase_all(acme)
    assert count_bodies(acme, "sparrow") == 0


def test_copies_of_a_result_with_several_texts_are_erased(agent: Agent, acme: Account) -> None:
    parts = [{"type": "text", "text": text} for text in (SECRET, "Ask ada@example.test.")]
    message = {"role": "tool", "tool_call_id": "call-0", "content": parts}
    agent.post("tool-results", {**message, "tool_name": "search_manual", "threshold": 0}, 201)
    messages = conversation("")
    messages[2] = message
    result = {"type": "tool_result", "tool_use_id": "u1", "content": parts}
    use = {"type": "tool_use", "id": "u1", "name": "look", "input": {}}
    anthropic: list[dict[str, Any]] = [
        {"role": "assistant", "content": [use]},
        {"role": "user", "content": [result]},
    ]
    for number, each in enumerate((messages, anthropic)):
        assemble(agent, each, user_id=str(number))
    assert count_bodies(acme, "sparrow") == 2
    erase_all(acme)
    assert count_bodies(acme, "sparrow") == 0


@pytest.mark.parametrize("text", [SECRET, f"{SECRET} ada@example.test knows."])
@pytest.mark.parametrize("first", ["result", "call"])
def test_copies_under_a_former_key_are_erased(
    agent: Agent, acme: Account, settings: Settings, text: str, first: str
) -> None:
    actions = {
        "result": partial(archive_result, agent, text),
        "call": partial(assemble, agent, conversation(text)),
    }
    actions.pop(first)()
    settings.SECRET_KEY_FALLBACKS, settings.SECRET_KEY = [settings.SECRET_KEY], "another"
    for action in actions.values():
        action()
    assert count_bodies(acme, "sparrow") == 1
    erase_all(acme)
    assert count_bodies(acme, "sparrow") == 0


@pytest.mark.parametrize("swept", [True, False])
def test_copies_of_an_older_release_are_erased(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch, *, swept: bool
) -> None:
    """Missing lookup keys are filled in by a worker, or by the erasure."""
    monkeypatch.setattr(backfill_lookup_keys, "CALLS", 2)
    monkeypatch.setattr(backfill_lookup_keys, "PARTS", 2)
    text = f"{SECRET} ada@example.test knows."
    archived = archive_result(agent, text)
    for number, each in enumerate((text, archived["content"])):
        odd = [{"name": name, "role": "assistant", "tool_calls": 5} for name in "abc"]
        assemble(agent, conversation(each), user_id=str(number), tools=odd)
    assemble(agent, loaded_part(archived, "with a sparrow"), user_id="3")
    with acting(acme):
        parts = ContextBody.objects.of(acme)
        parts.update(results=None)
    if swept:
        delete_expired_archives()
        with acting(acme):
            assert not parts.filter(results=None).exists()
            assert parts.exclude(results=[]).count() == 3
    assert count_bodies(acme, "sparrow") == 3
    erase_all(acme)
    assert count_bodies(acme, "sparrow") == 0
    assert count_bodies(acme, "How does the safe open?") == 1


def test_copies_of_other_users_stay(agent: Agent, acme: Account) -> None:
    calls: list[str] = []
    for user in ("ann", "ben"):
        archive_result(agent, user_id=user)
        calls.append(assemble(agent, conversation(SECRET), user_id=user)["report_id"])
    erase_all(acme, user_id="ann")
    assert count_bodies(acme, "sparrow") == 1
    for each, status in zip(calls, (410, 200), strict=True):
        agent.post(f"context/reports/{each}/replay", {}, status)
    erase_all(acme, user_id="ben")
    assert count_bodies(acme, "sparrow") == 0


def test_summaries_are_erased(agent: Agent, acme: Account) -> None:
    policy = {"least_turns": 6, "summary_tokens": 100, "prune": []}
    messages = [*conversation(SECRET)[:-1], *talk(6, characters=600)]
    tight: dict[str, Any] = {"window": 1_000, "reserve": 100, "policy": policy}
    for user in ("", "ben"):
        within = ArchiveScope(conversation_id="c1", user_id=user)
        call(acme, messages if not user else talk(6, characters=600), within=within, **tight)
    call(acme, messages, within=ArchiveScope(conversation_id="c1"), **tight)
    archive_result(agent)
    with acting(acme):
        assert ContextSummary.objects.of(acme).count() == 2
        assert ContextInput.objects.of(acme).filter(rest__has_key="compacted").exists()
    erase_all(acme)
    with acting(acme):
        assert [row.user_id for row in ContextSummary.objects.of(acme)] == ["ben"]
        inputs = ContextInput.objects.of(acme).filter(rest__has_key="compacted")
        assert {*inputs.values_list("report__user_id", flat=True)} <= {"ben"}


def test_lookup_keys_are_keyed_digests(agent: Agent, acme: Account, rival: Account) -> None:
    archive_result(agent)
    assemble(agent, conversation(SECRET))
    with acting(acme):
        [lookup_keys] = (
            ContextBody.objects.of(acme).exclude(results=[]).values_list("results", flat=True)
        )
        [archive] = ToolResultArchive.objects.of(acme)
    assert lookup_keys == [archive.sent_sha256]
    assert archive.sha256 not in archive.lookup_keys()
    assert UUID(archive.lookup_keys()[0]) == archive.pk


def test_only_bodies_with_results_are_read(agent: Agent, acme: Account) -> None:
    archive_result(agent)
    with CaptureQueriesContext(connection) as queries:
        erase_all(acme)
    [sql] = [each["sql"] for each in queries if '"results" &&' in each["sql"]]
    assert "bodies_with_results" in makers.explain(acme, sql, "seqscan", "bitmapscan")
