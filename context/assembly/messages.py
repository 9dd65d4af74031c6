"""Message lists as OpenAI and Anthropic spell them: turns, tool calls and their results. Pure.

A list is never changed; what changes it returns another one. A tool result's text has a `Slot`,
one for each text part, so that a list can be taken apart and put together without a difference.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]
Path = tuple[int | str, ...]

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
SYSTEM = frozenset({"system", "developer"})


class NotMessages(ValueError):
    """Not a list of messages; `path` says where."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def check(messages: Sequence[Any]) -> None:
    """Raise NotMessages unless every message is one that this module can read."""
    for at, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise NotMessages(f"messages.{at}", "is not an object")
        if message.get("role") not in ROLES:
            raise NotMessages(f"messages.{at}.role", f"is not one of {', '.join(sorted(ROLES))}")
        _check_content(at, message)
        _check_calls(at, message)


def _check_content(at: int, message: Message) -> None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        raise NotMessages(f"messages.{at}.content", "is neither a text nor a list of parts")
    for number, part in enumerate(content):
        inner, place = part.get("content"), f"messages.{at}.content.{number}"
        if part.get("type") == "tool_result":
            _text(part.get("tool_use_id"), f"{place}.tool_use_id")
            if not isinstance(inner, str | None | list) or (
                isinstance(inner, list) and not all(isinstance(each, Mapping) for each in inner)
            ):
                raise NotMessages(f"{place}.content", "is neither a text nor a list of parts")
        elif part.get("type") == "tool_use":
            _text(part.get("id"), f"{place}.id")
            _text(part.get("name"), f"{place}.name")


def _check_calls(at: int, message: Message) -> None:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise NotMessages(f"messages.{at}.tool_calls", "is not a list")
    for number, call in enumerate(calls):
        place = f"messages.{at}.tool_calls.{number}"
        if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
            raise NotMessages(place, "is not a call of a function")
        _text(call.get("id"), f"{place}.id")
        _text(call["function"].get("name"), f"{place}.function.name")
    if message["role"] == "tool":
        _text(message.get("tool_call_id"), f"messages.{at}.tool_call_id")


def _text(value: Any, path: str) -> None:
    if not isinstance(value, str) or not value:
        raise NotMessages(path, "is not a text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One text of one tool result, and where it stands."""

    at: int  # the message
    path: Path  # inside the message
    call_id: str
    text: str


def slots(messages: Sequence[Message]) -> list[Slot]:
    """Every text that a tool returned, in order."""
    return [
        Slot(at=at, path=path, call_id=call_id, text=text)
        for at, message in enumerate(messages)
        for path, call_id, text in _slots_of(message)
    ]


def _slots_of(message: Message) -> Iterator[tuple[Path, str, str]]:
    content = message.get("content")
    if message["role"] == "tool":
        for path, text in _texts(content, ("content",)):
            yield path, str(message.get("tool_call_id", "")), text
    elif isinstance(content, list):
        for number, part in enumerate(content):
            if part.get("type") == "tool_result":
                inner = ("content", number, "content")
                for path, text in _texts(part.get("content"), inner):
                    yield path, str(part.get("tool_use_id", "")), text


def _texts(content: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(content, str):
        yield path, content
    elif isinstance(content, list):
        for number, part in enumerate(content):
            if part.get("type") == "text" and isinstance(part.get("text"), str):
                yield (*path, number, "text"), part["text"]


def replaced(messages: Sequence[Message], texts: Mapping[tuple[int, Path], str]) -> list[Message]:
    """The same list with other texts in these places; everything else is the same object."""
    by_message: dict[int, list[tuple[Path, str]]] = {}
    for (at, path), text in texts.items():
        by_message.setdefault(at, []).append((path, text))
    whole = list(messages)
    for at, changes in by_message.items():
        for path, text in changes:
            whole[at] = _with(whole[at], path, text)
    return whole


def _with(value: Any, path: Path, text: str) -> Any:
    if not path:
        return text
    step, *rest = path
    if isinstance(value, list):
        return [
            _with(each, tuple(rest), text) if at == step else each for at, each in enumerate(value)
        ]
    return {**value, step: _with(value[step], tuple(rest), text)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that the model called."""

    id: str
    name: str
    said: Any  # the input, in JSON or as a value

    @property
    def input(self) -> Any:
        """Read only when somebody asks: most only want to know what was called."""
        try:
            return json.loads(self.said) if isinstance(self.said, str) else self.said
        except ValueError:
            return self.said


def calls_of(message: Message) -> list[Call]:
    """The tools that one message calls."""
    if message["role"] != "assistant":
        return []
    found = [
        Call(
            id=str(call["id"]),
            name=str(call["function"]["name"]),
            said=call["function"].get("arguments"),
        )
        for call in message.get("tool_calls") or []
    ]
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return found + [
        Call(id=str(part["id"]), name=str(part["name"]), said=part.get("input", {}))
        for part in parts
        if part.get("type") == "tool_use"
    ]


def calls(messages: Sequence[Message]) -> dict[str, Call]:
    """Every call by its id."""
    return {call.id: call for message in messages for call in calls_of(message)}


def results_of(message: Message) -> list[str]:
    """The calls that one message answers."""
    if message["role"] == "tool":
        return [str(message.get("tool_call_id", ""))]
    content = message.get("content")
    parts = content if isinstance(content, list) else []
    return [str(part["tool_use_id"]) for part in parts if part.get("type") == "tool_result"]


def turns(messages: Sequence[Message]) -> list[range]:
    """The conversation by turns: each begins where the user says something.

    What stands before the first of them, but for the system's words, is a turn of its own.
    """
    body = [at for at, message in enumerate(messages) if message["role"] not in SYSTEM]
    if not body:
        return []
    starts = [at for at in body if _speaks(messages[at])]
    if not starts or starts[0] != body[0]:
        starts.insert(0, body[0])
    ends = [*starts[1:], len(messages)]
    return [range(start, end) for start, end in zip(starts, ends, strict=True)]


def _speaks(message: Message) -> bool:
    """Whether the user says something, and does not only hand over what a tool returned."""
    if message["role"] != "user":
        return False
    content = message.get("content")
    if not isinstance(content, list):
        return True
    return any(part.get("type") != "tool_result" for part in content)


def without_orphans(messages: Sequence[Message]) -> list[Message]:
    """Without results whose call is not there, and without calls that were never answered.

    The calls of the last message are still to be answered.
    """
    kept = _once(messages)
    while len(kept) != len(messages) or not _same(kept, messages):
        messages, kept = kept, _once(kept)
    return kept


def _once(messages: Sequence[Message]) -> list[Message]:
    called: set[str] = set()
    answered = {each for message in messages for each in results_of(message)}
    pending = {call.id for call in calls_of(messages[-1])} if messages else set()
    known = answered | pending
    kept: list[Message] = []
    for message in messages:
        one = _only(message, calls=known, results=called)
        if one is not None:
            kept.append(one)
        called |= {call.id for call in calls_of(message)}
        called -= set(results_of(message))
    return kept


def _same(some: Sequence[Message], others: Sequence[Message]) -> bool:
    return all(one is other for one, other in zip(some, others, strict=True))


def _only(message: Message, *, calls: set[str], results: set[str]) -> Message | None:
    """The message with these calls and results only; None when nothing of it is left."""
    mine, answers = [call.id for call in calls_of(message)], results_of(message)
    if set(mine) <= calls and set(answers) <= results:
        return message
    if message["role"] == "tool":
        return None
    kept = dict(message)
    if kept.get("tool_calls"):
        kept["tool_calls"] = [call for call in kept["tool_calls"] if call["id"] in calls]
        if not kept["tool_calls"]:
            del kept["tool_calls"]
    if isinstance(kept.get("content"), list):
        kept["content"] = [part for part in kept["content"] if _stays(part, calls, results)]
    return kept if kept.get("content") or kept.get("tool_calls") else None


def _stays(part: Mapping[str, Any], calls: set[str], results: set[str]) -> bool:
    if part.get("type") == "tool_use":
        return part["id"] in calls
    return part.get("type") != "tool_result" or part["tool_use_id"] in results


def words_of(message: Message) -> str:
    """What a message says, without what tools returned."""
    content = message.get("content")
    if message["role"] == "tool" or content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = content
    return "\n".join(
        part["text"]
        for part in parts
        if part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def is_anthropic(messages: Sequence[Message]) -> bool:
    """Whether tools are called and answered the Anthropic way."""
    return any(
        part.get("type") in ("tool_use", "tool_result")
        for message in messages
        if isinstance(content := message.get("content"), list)
        for part in content
    )
