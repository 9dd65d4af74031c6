"""Chat completions through any OpenAI-compatible endpoint."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from kmapp.providers.client import post_json
from kmapp.providers.errors import Faulted
from kmapp.providers.metrics import record_call

Message = Mapping[str, Any]
INCOMPLETE = ("length", "content_filter")  # finish reasons of answers that are not complete


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The answer of a model, and whether it ended before it was complete."""

    text: str
    is_cut: bool


def is_configured() -> bool:
    """Return whether there is a chat model. Without one, its jobs wait in the outbox."""
    return bool(settings.CHAT_MODEL)


def supports_images() -> bool:
    return bool(settings.VISION_MODEL)


def complete_chat(
    messages: Sequence[Message],
    *,
    schema: Mapping[str, Any] | None = None,
    model: str = "",
    deadline: float,
) -> str:
    """Return the text of `request_completion`, whether it is complete or not."""
    return request_completion(messages, schema=schema, model=model, deadline=deadline).text


def request_completion(
    messages: Sequence[Message],
    *,
    schema: Mapping[str, Any] | None = None,
    model: str = "",
    deadline: float,
) -> Completion:
    """Return the answer of a model, by default the chat model; check `is_configured()` first.

    Raise Faulted for an answer without text, because it may concern this request alone.
    """
    body: dict[str, Any] = {"model": model or settings.CHAT_MODEL, "messages": list(messages)}
    if schema is not None:
        form = {"name": "answer", "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    with record_call("chat", "complete") as call:
        answer = post_json(
            settings.OPENAI_BASE_URL or "https://api.openai.com/v1",
            settings.OPENAI_API_KEY,
            lambda client: client.chat.completions.with_raw_response.create(**body),
            deadline,
        )
        try:
            choice = answer["choices"][0]
            text = choice["message"]["content"]
        except (TypeError, LookupError) as error:
            raise Faulted("The chat model's answer is not understood.") from error
        if not isinstance(text, str):  # a refusal, or a call of tools that were not offered
            raise Faulted("The chat model answered without text.")
        call.outcome = "ok"
        return Completion(text=text, is_cut=choice.get("finish_reason") in INCOMPLETE)
