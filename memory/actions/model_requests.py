"""Requests to the chat model for a parsed answer, with one chance to repair it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from time import monotonic
from typing import Any, Generic, TypeVar

from django.conf import settings

from kmapp.providers import chat
from kmapp.providers.chat import Completion, Message
from kmapp.providers.errors import ProviderTimeout, Refused
from memory.extraction.conversation import Message as ConversationMessage
from memory.extraction.prompts import prompt
from memory.extraction.response_schema import InvalidResponse

T = TypeVar("T")
MAX_ANSWER_LENGTH = 20_000  # characters that are stored
# When the time for all answers of a job ends. Without it, only each answer has a deadline.
_answers_until: ContextVar[float | None] = ContextVar("answers_until", default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    value: T
    raw: str


class InvalidAnswer(Exception):
    """Neither the first nor the repaired answer of the model is valid."""

    def __init__(self, problem: str, raw: str) -> None:
        super().__init__(f"The chat model's answer is not used: {problem}.")
        self.problem = problem
        self.raw = sanitize_answer(raw)


def request_answer(
    system: str, text: str, parse: Callable[[str], T], schema: Mapping[str, Any] | None = None
) -> Answer[T]:
    """Request an answer that `parse` accepts. Use outside transactions, since it may take long."""
    messages: list[Message] = [
        {"role": "system", "content": system},
        {"role": "user", "content": text},
    ]
    completion = _complete(messages, schema)
    try:
        return _parse_completion(completion, parse, schema)
    except InvalidResponse as error:
        messages += [
            {"role": "assistant", "content": sanitize_answer(completion.text)},
            {"role": "user", "content": prompt("repair", problem=str(error))},
        ]
    completion = _complete(messages, schema)
    try:
        return _parse_completion(completion, parse, schema)
    except InvalidResponse as error:
        raise InvalidAnswer(str(error), completion.text) from error


def _parse_completion(
    completion: Completion, parse: Callable[[str], T], schema: Mapping[str, Any] | None
) -> Answer[T]:
    """Parse an answer. Raise InvalidResponse for cut-off text; cut-off JSON is invalid anyway."""
    if completion.is_cut and schema is None:
        raise InvalidResponse("it was cut off before its end")
    return Answer(value=parse(completion.text), raw=completion.text)


@contextmanager
def limit_answer_time(seconds: float) -> Iterator[None]:
    """Limit the time of all answers that are requested inside the block together."""
    token = _answers_until.set(monotonic() + seconds)
    try:
        yield
    finally:
        _answers_until.reset(token)


def _compute_deadline() -> float:
    """Return the seconds for the next answer. Raise ProviderTimeout if none are left."""
    until = _answers_until.get()
    if until is None:
        return settings.CHAT_DEADLINE
    left = until - monotonic()
    if left <= 0:
        raise ProviderTimeout("The answers of the chat model took too long together.")
    return min(settings.CHAT_DEADLINE, left)


def _complete(messages: Sequence[Message], schema: Mapping[str, Any] | None) -> Completion:
    try:
        return chat.request_completion(messages, schema=schema, deadline=_compute_deadline())
    except Refused:
        if schema is None:
            raise
        # Some servers do not support schemas; the prompt describes the form as well.
        return chat.request_completion(messages, deadline=_compute_deadline())


def describe_images(messages: Sequence[ConversationMessage]) -> list[ConversationMessage]:
    """Return the messages with each image replaced by the description of a vision model."""
    if any(message.images for message in messages) and not chat.supports_images():
        raise InvalidAnswer("no model that supports images is configured any more", "")
    return [message.with_described_images(_describe_image) for message in messages]


def _describe_image(image: str) -> str:
    """Return a description of an image by the vision model."""
    content = [
        {"type": "text", "text": prompt("picture")},
        {"type": "image_url", "image_url": {"url": image}},
    ]
    description = chat.complete_chat(
        [{"role": "user", "content": content}],
        model=settings.VISION_MODEL,
        deadline=_compute_deadline(),
    )
    return sanitize_answer(description).strip()


def sanitize_answer(text: str) -> str:
    """Return text that the database and the ledger can store."""
    valid = text.encode(errors="replace").decode()
    return valid.replace("\x00", "�")[:MAX_ANSWER_LENGTH]
