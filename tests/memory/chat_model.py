"""A scripted chat model on loopback, and conversations with it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.deliver import deliver_due, paused_until
from kmapp.outbox.registry import QUEUES
from memory.models import MemoryEntry
from tests.agent import Agent
from tests.fake_provider import FakeProvider

RequestBody = Mapping[str, Any]
FACTS, DECIDE, WORTH, REWRITE = "facts", "decisions", "should_store", "content"


def request_kind(body: RequestBody) -> str:
    """Return the kind of request, by the required fields of its response schema."""
    form = body.get("response_format")
    if form is None:
        return "text"
    names = form["json_schema"]["schema"]["required"]
    return next(name for name in (FACTS, DECIDE, WORTH, REWRITE) if name in names)


def fact(text: str, **more: Any) -> dict[str, Any]:
    kind = {"kind": "fact", "category": "other", "importance": 0.6, "entities": []}
    return {"text": text, **kind, **more}


def decision(item: int, event: str, memory: int | str | None = None, **more: Any) -> dict[str, Any]:
    content = {"fact": item, "event": event, "memory": memory, "text": None, "reason": "Because."}
    return {**content, **more}


def request_data(body: RequestBody) -> dict[str, Any]:
    """Return the data in the prompt of a decision request."""
    content = body["messages"][1]["content"]
    return dict(json.loads(content.removeprefix("<data>\n").removesuffix("\n</data>")))


def scripted_reply(
    facts: Sequence[Any], decisions: Sequence[Any] = ()
) -> Callable[[RequestBody], str]:
    """Reply with these facts and decisions; decisions name memories by their texts."""

    def reply(body: RequestBody) -> str:
        if request_kind(body) == FACTS:
            return json.dumps({"facts": list(facts)}, ensure_ascii=False)
        numbers = {each["text"]: each["memory"] for each in request_data(body)["memories"]}
        named = [
            {**each, "memory": numbers.get(each["memory"], each["memory"])} for each in decisions
        ]
        return json.dumps({"decisions": named}, ensure_ascii=False)

    return reply


def configure_chat(settings: Settings, provider: FakeProvider) -> None:
    settings.CHAT_MODEL = "talker"
    settings.OPENAI_BASE_URL = provider.url
    settings.OPENAI_API_KEY = "key"


def run_due_jobs() -> None:
    """Run the worker once over all due jobs; jobs may fail."""
    paused_until.clear()
    for queue in QUEUES:
        deliver_due(queue)


def add_conversation(agent: Agent, messages: Any, **ids: Any) -> dict[str, Any]:
    """Add a conversation, run the worker and return the event."""
    body = {"messages": messages, **(ids or {"user_id": "mira"})}
    accepted = agent.post("memory/add", body, 202)
    run_due_jobs()
    return dict(agent.get(f"events/{accepted['event_id']}"))


def current_memories(account: Account, **more: Any) -> dict[str, str]:
    """Return the kind of each active memory, by its text."""
    with acting(account):
        rows = MemoryEntry.objects.of(account).current().filter(**more)
        return dict(rows.values_list("content", "kind"))
