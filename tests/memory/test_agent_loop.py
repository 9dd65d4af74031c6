"""The loop in the docs does what the docs say."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from kmapp.accounts.models import Account, ApiKey
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import RequestBody, configure_chat, current_memories, run_due_jobs
from tests.web.browser import served

PAGE = Path(django_settings.BASE_DIR) / "docs" / "agent-loop.md"
WORTH = {
    "should_store": True,
    "reasoning": "It is how Mira eats.",
    "memories": [
        {"type": "preference", "content": "Mira eats no meat", "importance": 0.9, "tags": ["food"]}
    ],
}


def reply(body: RequestBody) -> str:
    """The assistant's answer; and, asked by a worker, what is worth keeping of it."""
    return json.dumps(WORTH) if body.get("response_format") else "A table without meat is booked."


def test_documented_loop_recalls_the_previous_task(
    committed: str,
    agent: Agent,
    acme: Account,
    key: tuple[ApiKey, str],
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    [code] = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len([line for line in code.splitlines() if line.strip()]) <= 30
    with FakeProvider().serving() as chat, served() as address:
        configure_chat(settings, chat)
        chat.become(reply=reply)
        for name, value in {
            "KMAPP_URL": address,
            "KMAPP_KEY": key[1],
            "OPENAI_BASE_URL": chat.url,
            "OPENAI_API_KEY": "key",
            "CHAT_MODEL": "talker",
        }.items():
            monkeypatch.setenv(name, value)
        loop: dict[str, Any] = {}
        exec(compile(code, str(PAGE), "exec"), loop)  # noqa: S102 - the page is ours
        try:
            told = "A table without meat is booked."
            assert loop["work"]("Book a table for Mira.", user_id="mira") == told
            run_due_jobs()
            assert current_memories(acme) == {"Mira eats no meat": "preference"}
            loop["work"]("What meat does Mira eat?", user_id="mira")
            loop["work"]("What meat does Bob eat?", user_id="bob")
        finally:
            loop["kmapp"].close()
            loop["model"].close()
        asked = [each for each in chat.seen if "messages" in each and "response_format" not in each]
    first, second, other = (json.dumps(each["messages"]) for each in asked)
    assert "Mira eats no meat" in second
    assert "Mira eats no meat" not in first
    assert "Mira eats no meat" not in other
