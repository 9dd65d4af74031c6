"""Archives of long tool results: loading, search and retention."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from context.actions.archives import erase_archives, expired_archives, remove_expired_archives
from context.actions.settings import change_settings
from context.models import ToolResultArchive
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.models import Note
from kmapp.ledger.verify import verify_account
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.models import Delivery
from kmapp.search.models import IndexedDocument, Vector
from tests import makers
from tests.agent import Agent
from tests.context.builders import configure

pytestmark = pytest.mark.usefixtures("low_threshold")
FILLER = "The garden has many plants, and somebody waters them every morning at six. " * 15
FACT = "The kiln fires at 1280 degrees."
LONG = f"{FILLER}{FACT}\n{FILLER}"


def send(agent: Agent, result: Any = LONG, status: int | None = None, **more: Any) -> Any:
    body = {"tool_name": "search_manual", "tool_input": {"query": "kiln"}, "result": result}
    return agent.post("tool-results", {**body, "conversation_id": "c1", **more}, status)


def test_short_result_is_returned_unchanged(agent: Agent, acme: Account) -> None:
    text = "x" * 1_000
    answer = send(agent, text, 200)
    assert (answer["archived"], answer["content"], answer["archive"]) == (False, text, None)
    assert not makers.rows(ToolResultArchive, acme)


@pytest.mark.parametrize(
    ("language", "head"), [("en", "Tool result archived"), ("zh", "工具结果存档")]
)
def test_long_result_is_archived_whole(agent: Agent, language: str, head: str) -> None:
    answer = send(agent, status=201, language=language, sources=["manual.md"])
    uuid = answer["archive"]["uuid"]
    assert answer["content"].startswith(f"📎 [{head}: {uuid}]")
    assert "- manual.md" in answer["content"]
    assert answer["tokens"]["after"] < answer["tokens"]["before"]
    loaded = agent.get(f"tool-results/{uuid}", conversation_id="c1")
    assert loaded["content"] == LONG
    assert loaded["part"] == "whole"
    assert loaded["tool_input"] == {"query": "kiln"}
    part = agent.get(f"tool-results/{uuid}", start=1_000, end=1_200)
    assert (part["content"], part["part"]) == (LONG[1_000:1_200], "range")


def test_repeated_result_is_archived_once(agent: Agent, acme: Account) -> None:
    first = send(agent, status=201, tool_call_id="a")
    assert send(agent, status=200, tool_call_id="a")["archive"] == first["archive"]
    send(agent, status=201, tool_call_id="b")
    assert makers.count(ToolResultArchive, acme) == 2


def test_json_is_archived_as_text(agent: Agent) -> None:
    answer = send(agent, {"b": [1, "茶"], "a": "x" * 10_000}, 201)
    loaded = agent.get(f"tool-results/{answer['archive']['uuid']}")
    assert loaded["content"] == '{"a":"' + "x" * 10_000 + '","b":[1,"茶"]}'


def test_thresholds_depend_on_account_and_tool(agent: Agent, acme: Account) -> None:
    with acting(acme):
        values = {"archive_threshold": 50, "tool_thresholds": {"quiet": 90_000}}
        change_settings(acme.pk, values, actor=SYSTEM)
    assert send(agent, "y" * 51)["archived"]
    assert not send(agent, "y" * 50)["archived"]
    assert not send(agent, "y" * 60_000, tool_name="quiet")["archived"]
    assert send(agent, "y" * 20, threshold=10)["archived"]


def test_redacted_data_is_not_archived(agent: Agent, acme: Account) -> None:
    answer = send(agent, LONG + " Write to ada@example.test.", 201)
    content = agent.get(f"tool-results/{answer['archive']['uuid']}")["content"]
    assert "[email]" in content
    assert "ada@example.test" not in content


def test_passages_fit_their_budget(agent: Agent) -> None:
    uuid = send(agent)["archive"]["uuid"]
    for is_embedded in (False, True):  # before and after embedding
        if is_embedded:
            makers.settle()
        answer = agent.get(f"tool-results/{uuid}", query="How hot is the kiln?", max_tokens=400)
        assert FACT in answer["content"]
        assert answer["tokens"] <= 400
        assert answer["part"] == "passages"
        for passage in answer["passages"]:
            assert LONG[passage["start"] : passage["end"]] == passage["text"]
    assert agent.get(f"tool-results/{uuid}", query="kiln", max_tokens=50)["tokens"] <= 50


def test_search_is_limited_to_its_conversation(agent: Agent, acme: Account) -> None:
    mine = send(agent)["archive"]["uuid"]
    other = send(agent, LONG + "!", conversation_id="c2")["archive"]["uuid"]
    theirs = send(agent, LONG + "?", conversation_id="c3", user_id="u9")["archive"]["uuid"]
    makers.settle()
    results = agent.post("tool-results/search", {"query": "kiln degrees", "conversation_id": "c1"})
    assert [hit["uuid"] for hit in results["results"]] == [mine]
    assert FACT in results["results"][0]["passage"]["text"]
    wide = {"query": "kiln degrees", "across": True}
    agent.post("tool-results/search", wide, 403)
    agent.post("tool-results/search", {"query": "kiln"}, 400)
    assert "conversation_id" in agent.get("tool-results", 403)["message"]
    agent.get(f"tool-results/{other}", 404, conversation_id="c1")
    configure(acme, across_conversations=True)
    results = agent.post("tool-results/search", wide)
    assert {hit["uuid"] for hit in results["results"]} == {mine, other}
    results = agent.post("tool-results/search", {**wide, "user_id": "u9"})
    assert {hit["uuid"] for hit in results["results"]} == {mine, other, theirs}
    assert agent.get(f"tool-results/{other}", conversation_id="c1")["part"] == "whole"


def test_search_limits_the_text_in_which_it_looks_for_passages(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("context.archives.retrieval.MAX_SCANNED", 2_000)
    monkeypatch.setattr("context.archives.retrieval.MIN_SCANNED", 500)
    for end in "!?":
        send(agent, LONG + end)
    makers.settle()
    results = agent.post("tool-results/search", {"query": "kiln degrees", "conversation_id": "c1"})
    first, second = (hit["passage"] for hit in results["results"])
    assert FACT in first["text"]
    assert (second["start"], FACT in second["text"]) == (0, False)
    assert second["end"] <= 500


def test_list_is_paginated_and_filtered(agent: Agent) -> None:
    for number in range(5):
        send(agent, LONG + str(number), thread_id=f"t{number % 2}", tool_name=f"tool{number % 2}")
    first = agent.get("tool-results", conversation_id="c1", limit=3)
    rest = agent.get("tool-results", conversation_id="c1", limit=3, before=first["next"])
    uuids = [each["uuid"] for each in first["results"] + rest["results"]]
    assert len(set(uuids)) == 5
    assert rest["next"] is None
    assert agent.get("tool-results", conversation_id="c1", limit=5)["next"] is None
    assert "result_full" not in first["results"][0]
    assert len(agent.get("tool-results", conversation_id="c1", thread_id="t0")["results"]) == 3
    assert len(agent.get("tool-results", conversation_id="c1", tool_name="tool1")["results"]) == 2


def test_page_after_an_erased_result_is_not_empty(agent: Agent, acme: Account) -> None:
    for number in range(3):
        send(agent, LONG + str(number))
    last = agent.get("tool-results", conversation_id="c1", limit=2)["next"]
    with acting(acme):
        erased = list(ToolResultArchive.objects.of(acme).filter(pk=last))
        erase_archives(acme.pk, SYSTEM, erased, reason="")
    refused = agent.get("tool-results", 404, conversation_id="c1", before=last)
    assert "Start again" in refused["message"]


@pytest.mark.usefixtures("provider")
def test_archives_are_embedded_one_by_one_when_time_is_short(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job out of time embeds one archive, and does not count an attempt for the others."""
    monkeypatch.setattr("context.actions.embeddings.MAX_SECONDS", 0)
    for number in range(3):
        send(agent, f"{LONG} {number}")
    jobs = {"handler": "context.handlers.embed"}
    deliver_due("embedding", seconds=0.001)
    states = sorted(
        (job.done_at is None, job.attempts) for job in makers.rows(Delivery, acme, **jobs)
    )
    assert states == [(False, 1), (True, 0), (True, 0)]
    makers.settle()
    assert all(job.done_at for job in makers.rows(Delivery, acme, **jobs))
    vectors = makers.rows(Vector, acme, collection="context.archive", state="READY")
    assert len({vector.object_id for vector in vectors}) == 3


def test_expired_archives_are_erased(agent: Agent, acme: Account) -> None:
    old, young = send(agent)["archive"]["uuid"], send(agent, LONG + "!")["archive"]["uuid"]
    makers.settle()
    with acting(acme):
        rows = ToolResultArchive.objects.of(acme)
        change_settings(acme.pk, {"retention_days": 30}, actor=SYSTEM)
        rows.filter(pk=old).update(created_at=timezone.now() - timedelta(days=31))
        assert [str(row.pk) for row in expired_archives(acme.pk, 30)] == [old]
    assert remove_expired_archives(acme.pk) == 1
    assert remove_expired_archives(acme.pk) == 0
    agent.get(f"tool-results/{old}", 404)
    assert agent.get(f"tool-results/{young}")["part"] == "whole"
    with acting(acme):
        left = IndexedDocument.objects.of(acme).filter(collection="context.archive")
        assert {str(pk) for pk in left.values_list("document", flat=True)} == {young}
        vectors = Vector.objects.of(acme).filter(collection="context.archive")
        assert {str(pk) for pk in vectors.values_list("object_id", flat=True)} == {young}
    assert verify_account(acme.pk).ok
    with acting(acme):
        assert not Delivery.objects.of(acme).exclude(last_error="").exists()


def test_retention_without_expired_rows_reads_no_other_tables(agent: Agent, acme: Account) -> None:
    send(agent)
    with CaptureQueriesContext(connection) as queries:
        assert remove_expired_archives(acme.pk) == 0
    read = " ".join(each["sql"] for each in queries)
    assert "context_toolresultarchive" in read
    for others in ("api_idempotentrequest", "outbox_delivery", "context_contextbody"):
        assert others not in read


def test_stored_responses_are_erased_with_the_result(agent: Agent, acme: Account) -> None:
    body = {"tool_name": "t", "tool_input": {}, "result": LONG, "conversation_id": "c1"}
    agent.post("tool-results", body, 201, **{"Idempotency-Key": "k"})
    with acting(acme):
        [stored] = IdempotentRequest.objects.of(acme)
        assert stored.answer
        reason = "Asked by m@example.test"
        erase_archives(acme.pk, SYSTEM, list(ToolResultArchive.objects.of(acme)), reason=reason)
        stored.refresh_from_db()
        assert (stored.state, stored.answer) == ("forgotten", "")
        assert Note.objects.of(acme).latest("commit__seq").reason == "Asked by [email]"


def test_unlimited_retention_erases_nothing(agent: Agent, acme: Account) -> None:
    send(agent)
    with acting(acme):
        change_settings(acme.pk, {"retention_days": None}, actor=SYSTEM)
        long_ago = timezone.now() - timedelta(days=9_000)
        ToolResultArchive.objects.of(acme).update(created_at=long_ago)
    assert remove_expired_archives(acme.pk) == 0


def test_query_count(agent: Agent, max_queries: MaxQueries) -> None:
    uuid = send(agent)["archive"]["uuid"]
    makers.settle()
    agent.get(f"tool-results/{uuid}", query="kiln")
    with max_queries(26):
        send(agent, LONG + "!", 201)
    with max_queries(9):
        agent.get(f"tool-results/{uuid}")
    with max_queries(12):
        agent.get(f"tool-results/{uuid}", query="kiln")
    with max_queries(18):
        agent.post("tool-results/search", {"query": "kiln", "conversation_id": "c1"})
    with max_queries(8):
        agent.get("tool-results", conversation_id="c1")


def test_rejects_invalid_requests(agent: Agent) -> None:
    named: dict[str, Any] = {"tool_name": "t", "result": "x"}
    invalid: list[dict[str, Any]] = [
        {"result": "x"},
        {"tool_name": "t"},
        {**named, "tool_name": "t" * 101},
        {**named, "language": "fr"},
        {**named, "threshold": -1},
        {**named, "sources": [1, {"a": 2}]},
        {**named, "conversation_id": {"a": 1}},
    ]
    for body in invalid:
        assert agent.post("tool-results", body, 400)["issues"], body


def test_load_tool_is_strict_and_translated(agent: Agent) -> None:
    for language, word in (("zh", "历史工具结果管理"), ("en", "Earlier tool results")):
        answer = agent.get("context/load-tool", language=language)
        assert answer["tool"]["function"]["name"] == "load_tool_history"
        assert answer["tool"]["function"]["strict"]
        assert word in answer["system"]
