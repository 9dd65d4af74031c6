"""Calls of a chat model."""

from collections.abc import Coroutine
from types import ModuleType
from typing import Any

import pytest
from pytest_django import Settings

from kmapp.providers import chat
from kmapp.providers.content_policy import is_about_content
from kmapp.providers.errors import Faulted, ProviderError, ProviderTimeout, Refused
from tests.fake_provider import FakeProvider

MESSAGES = [{"role": "user", "content": "Say yes."}]


@pytest.fixture
def talker(provider: FakeProvider, settings: Settings) -> ModuleType:
    settings.CHAT_MODEL = "talker"
    settings.OPENAI_BASE_URL = provider.url
    settings.OPENAI_API_KEY = "key"
    return chat


def test_chat_is_not_configured_without_a_model(settings: Settings) -> None:
    settings.CHAT_MODEL = ""
    assert not chat.is_configured()
    settings.CHAT_MODEL = "talker"
    assert chat.is_configured()


def test_complete_returns_the_reply(provider: FakeProvider, talker: ModuleType) -> None:
    provider.become(reply="yes")
    assert talker.complete_chat(MESSAGES, deadline=5) == "yes"
    [body] = provider.seen
    assert body["model"] == "talker"
    assert body["messages"] == MESSAGES
    assert "response_format" not in body


def test_schema_is_sent_as_a_strict_response_format(
    provider: FakeProvider, talker: ModuleType
) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    talker.complete_chat(MESSAGES, schema=schema, deadline=5)
    [body] = provider.seen
    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": schema},
    }


def test_slow_response_ends_at_the_deadline(provider: FakeProvider, talker: ModuleType) -> None:
    provider.become("drip", delay=0.1)  # each byte in time, the whole in ten seconds
    with pytest.raises(ProviderTimeout):
        talker.complete_chat(MESSAGES, deadline=0.4)


@pytest.mark.parametrize("mode", ["error", "refuse", "garbage"])
def test_failed_response_is_an_error(provider: FakeProvider, talker: ModuleType, mode: str) -> None:
    provider.become(mode)
    with pytest.raises(ProviderError):
        talker.complete_chat(MESSAGES, deadline=5)


def test_deeply_nested_response_is_an_error(
    talker: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def respond(call: Coroutine[Any, Any, bytes], _seconds: float) -> bytes:
        call.close()
        return b"[" * 100_000

    monkeypatch.setattr("kmapp.providers.client.run_with_deadline", respond)
    with pytest.raises(Faulted, match="not JSON"):
        talker.complete_chat(MESSAGES, deadline=5)


def test_redirects_are_not_followed(provider: FakeProvider, talker: ModuleType) -> None:
    provider.become("elsewhere", reply="from there")
    with pytest.raises(ProviderError, match="307"):
        talker.complete_chat(MESSAGES, deadline=5)
    assert provider.requests == 1


@pytest.mark.parametrize("reply", [None, 7])
def test_response_without_text_is_an_error(
    provider: FakeProvider, talker: ModuleType, reply: object
) -> None:
    provider.become(reply=reply)
    with pytest.raises(Faulted, match="without text"):
        talker.complete_chat([{"role": "user", "content": ""}], deadline=5)


@pytest.mark.parametrize(("mode", "is_refused"), [("flagged", True), ("forbidden", False)])
def test_403_about_the_input_is_a_refusal(
    provider: FakeProvider, talker: ModuleType, mode: str, *, is_refused: bool
) -> None:
    provider.become(mode)
    with pytest.raises(ProviderError, match="403") as failure:
        talker.complete_chat(MESSAGES, deadline=5)
    assert isinstance(failure.value, Refused) is is_refused


FLAGGED = "This model requires moderation. Your input was flagged for violence."
UNSAFE = "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO"
BLOCKED = "Your resource was blocked: we detected behavior that may violate our content policy."


@pytest.mark.parametrize(
    ("error", "is_content"),
    [
        ({"code": "content_policy_violation", "message": ""}, True),
        ({"code": 403, "metadata": {"error_type": "content_policy_violation"}}, True),
        ({"code": 403, "message": "No.", "metadata": {"flagged_input": "a"}}, True),
        ({"message": FLAGGED, "metadata": None}, True),
        (UNSAFE, True),
        ({"code": "Forbidden", "message": BLOCKED}, False),
        ({"type": "permission_error", "message": "The key may not use this model."}, False),
        ({"code": [], "type": {}, "message": 7, "metadata": []}, False),
        ({}, False),
        ("<html>Forbidden</html>", False),
        (None, False),
    ],
)
def test_403_about_the_key_is_no_refusal(error: object, *, is_content: bool) -> None:
    assert is_about_content(error) is is_content
