"""Asking the chat model: one question, an answer of a known shape, one chance to mend it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.conf import settings

from kmapp.providers.chat import Message, OpenAIChat
from kmapp.providers.errors import Refused
from memory.extraction.prompts import prompt
from memory.extraction.response_schema import InvalidResponse

T = TypeVar("T")
LONGEST_ANSWER = 20_000  # characters that are kept of it


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """What was read of an answer, and the answer."""

    read: T
    raw: str


class InvalidAnswer(Exception):
    """Nothing can be made of what the model says, twice."""

    def __init__(self, problem: str, raw: str) -> None:
        super().__init__(f"The chat model's answer is not used: {problem}.")
        self.problem = problem
        self.raw = sanitize_answer(raw)


def request_answer(
    system: str, user_text: str, read: Callable[[str], T], form: Mapping[str, Any] | None = None
) -> Answer[T]:
    """Return the model's answer parsed by `read`. Call it outside transactions."""
    messages: list[Message] = [
        {"role": "system", "content": system},
        {"role": "user", "content": user_text},
    ]
    raw = _complete(messages, form)
    try:
        return Answer(read=read(raw), raw=raw)
    except InvalidResponse as error:
        messages += [
            {"role": "assistant", "content": sanitize_answer(raw)},
            {"role": "user", "content": prompt("repair", problem=str(error))},
        ]
    raw = _complete(messages, form)
    try:
        return Answer(read=read(raw), raw=raw)
    except InvalidResponse as error:
        raise InvalidAnswer(str(error), raw) from error


def _complete(messages: Sequence[Message], form: Mapping[str, Any] | None) -> str:
    chat = OpenAIChat.from_settings()
    try:
        return chat.complete(messages, schema=form, deadline=settings.CHAT_DEADLINE)
    except Refused:
        if form is None:
            raise
        # Some servers know no schemas; the prompt describes the form as well.
        return chat.complete(messages, deadline=settings.CHAT_DEADLINE)


def describe_image(image: str) -> str:
    """Return a description of an image."""
    content = [
        {"type": "text", "text": prompt("picture")},
        {"type": "image_url", "image_url": {"url": image}},
    ]
    seen = OpenAIChat.that_sees().complete(
        [{"role": "user", "content": content}], deadline=settings.CHAT_DEADLINE
    )
    return sanitize_answer(seen).strip()


def sanitize_answer(text: str) -> str:
    """As the database and the ledger can keep it."""
    whole = text.encode(errors="replace").decode()
    return whole.replace("\x00", "�")[:LONGEST_ANSWER]
