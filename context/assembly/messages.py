"""Message lists in the formats of OpenAI and Anthropic: turns, tool calls, results. Pure.

Lists are immutable here; every change returns a new list. Each text part of a tool result is a
`Slot`, so that its text can be replaced without touching anything else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any

from context.assembly.tool_argument_decoding import decode_arguments

Message = Mapping[str, Any]
Path = tuple[int | str, ...]

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
SYSTEM = frozenset({"system", "developer"})


class InvalidMessages(ValueError):
    """An invalid message list; `path` locates the error."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


def check_messages(messages: Sequence[Any]) -> None:
    """Raise InvalidMessages unless this module can read every message."""
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise InvalidMessages(f"messages.{index}", "is not an object")
        role = message.get("role")
        if not isinstance(role, str) or role not in ROLES:
            reason = f"is not one of {', '.join(sorted(ROLES))}"
            raise InvalidMessages(f"messages.{index}.role", reason)
        _check_content(index, message)
        _check_calls(index, message)


def _check_content(index: int, message: Message) -> None:
    content = message.get("content")
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list) or not all(isinstance(part, Mapping) for part in content):
        raise InvalidMessages(f"messages.{index}.content", "is neither a text nor a list of parts")
    for number, part in enumerate(content):
        inner, place = part.get("content"), f"messages.{index}.content.{number}"
        if part.get("type") == "tool_result":
            _check_text(part.get("tool_use_id"), f"{place}.tool_use_id")
            if not isinstance(inner, str | None | list) or (
                isinstance(inner, list) and not all(isinstance(part, Mapping) for part in inner)
            ):
                raise InvalidMessages(f"{place}.content", "is neither a text nor a list of parts")
        elif part.get("type") == "tool_use":
            _check_text(part.get("id"), f"{place}.id")
            _check_text(part.get("name"), f"{place}.name")


def _check_calls(index: int, message: Message) -> None:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise InvalidMessages(f"messages.{index}.tool_calls", "is not a list")
    for number, call in enumerate(calls):
        place = f"messages.{index}.tool_calls.{number}"
        if not isinstance(call, Mapping) or not isinstance(call.get("function"), Mapping):
            raise InvalidMessages(place, "is not a call of a function")
        _check_text(call.get("id"), f"{place}.id")
        _check_text(call["function"].get("name"), f"{place}.function.name")
    if message["role"] == "tool":
        _check_text(message.get("tool_call_id"), f"messages.{index}.tool_call_id")


def _check_text(value: Any, path: str) -> None:
    if not isinstance(value, str) or not value:
        raise InvalidMessages(path, "is not a text")


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One text of one tool result, with its position."""

    index: int  # the message
    path: Path  # inside the message
    call_id: str
    text: str


def content_parts(message: Message) -> list[Mapping[str, Any]]:
    """Return the parts of the content; an empty list for plain text."""
    content = message.get("content")
    return content if isinstance(content, list) else []


def list_slots(messages: Sequence[Message]) -> list[Slot]:
    return [
        Slot(index=index, path=path, call_id=call_id, text=text)
        for index, message in enumerate(messages)
        for path, call_id, text in _iterate_slots(message)
    ]


def _iterate_slots(message: Message) -> Iterator[tuple[Path, str, str]]:
    content = message.get("content")
    if message["role"] == "tool":
        for path, text in _iterate_texts(content, ("content",)):
            yield path, str(message.get("tool_call_id", "")), text
        return
    for number, part in enumerate(content_parts(message)):
        if part.get("type") == "tool_result":
            inner = ("content", number, "content")
            for path, text in _iterate_texts(part.get("content"), inner):
                yield path, str(part.get("tool_use_id", "")), text


def _iterate_texts(content: Any, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(content, str):
        yield path, content
    elif isinstance(content, list):
        for number, part in enumerate(content):
            if part.get("type") == "text" and isinstance(part.get("text"), str):
                yield (*path, number, "text"), part["text"]


def replace_texts(
    messages: Sequence[Message], texts: Mapping[tuple[int, Path], str]
) -> list[Message]:
    """Return the list with new texts at these positions; everything else is shared."""
    by_path: dict[Path, str] = {(index, *path): text for (index, path), text in texts.items()}
    result: list[Message] = _replace_below(list(messages), by_path)
    return result


def _replace_below(value: Any, texts: Mapping[Path, str]) -> Any:
    """Replace all texts in one pass, because a message may have thousands of them."""
    if () in texts:
        return texts[()]
    by_step: dict[int | str, dict[Path, str]] = {}
    for (step, *rest), text in texts.items():
        by_step.setdefault(step, {})[tuple(rest)] = text
    steps = enumerate(value) if isinstance(value, list) else value.items()
    changed = {at: _replace_below(x, by_step[at]) if at in by_step else x for at, x in steps}
    return list(changed.values()) if isinstance(value, list) else changed


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    id: str
    name: str
    arguments: Any  # the input, in JSON or as a value

    @property
    def input(self) -> Any:
        """Return the decoded arguments. Lazy, because most callers need only the name."""
        return decode_arguments(self.arguments)


def list_calls(message: Message) -> list[ToolCall]:
    if message["role"] != "assistant":
        return []
    tool_calls = [
        ToolCall(
            id=str(call["id"]),
            name=str(call["function"]["name"]),
            arguments=call["function"].get("arguments"),
        )
        for call in message.get("tool_calls") or []
    ]
    return tool_calls + [
        ToolCall(id=str(part["id"]), name=str(part["name"]), arguments=part.get("input", {}))
        for part in content_parts(message)
        if part.get("type") == "tool_use"
    ]


def index_calls(messages: Iterable[Message]) -> dict[str, list[ToolCall]]:
    """Return the calls by id, which some clients repeat."""
    calls: dict[str, list[ToolCall]] = {}
    for message in messages:
        for call in list_calls(message):
            calls.setdefault(call.id, []).append(call)
    return calls


def list_answered_ids(message: Message) -> list[str]:
    if message["role"] == "tool":
        return [str(message.get("tool_call_id", ""))]
    parts = content_parts(message)
    return [str(part["tool_use_id"]) for part in parts if part.get("type") == "tool_result"]


def split_turns(messages: Sequence[Message]) -> list[range]:
    """Split the conversation into turns; each starts with a user message without tool results.

    Messages before the first user message, except system messages, form a turn of their own.
    """
    body = [index for index, message in enumerate(messages) if message["role"] not in SYSTEM]
    if not body:
        return []
    starts = [index for index in body if _begins_turn(messages[index])]
    if not starts or starts[0] != body[0]:
        starts.insert(0, body[0])
    ends = [*starts[1:], len(messages)]
    return [range(start, end) for start, end in zip(starts, ends, strict=True)]


def _begins_turn(message: Message) -> bool:
    """Return whether the user wrote something, and returned no tool results with it.

    A message with results stays in the turn of their calls, which would be useless without it.
    """
    if message["role"] != "user":
        return False
    return not (message.get("content") == [] or list_answered_ids(message))


def drop_orphans(messages: Sequence[Message]) -> list[Message]:
    """Drop tool results without their call and calls without a result.

    The calls of the last message are kept: their results are still to come.
    """
    remaining = _drop_orphans_once(messages)
    while len(remaining) != len(messages) or not all(map(is_, remaining, messages)):
        messages, remaining = remaining, _drop_orphans_once(remaining)
    return remaining


def _drop_orphans_once(messages: Sequence[Message]) -> list[Message]:
    called: set[str] = set()
    remaining: list[Message] = []
    for message, answered in zip(messages, _list_answered_calls(messages), strict=True):
        if one := _filter_message(message, calls=answered, results=called):
            remaining.append(one)
        called |= {call.id for call in list_calls(message)}
        called -= set(list_answered_ids(message))
    return remaining


def _list_answered_calls(messages: Sequence[Message]) -> list[set[str]]:
    """Return the ids of the answered calls of each message.

    A result answers the last call before it, because some clients repeat ids.
    """
    answered: list[set[str]] = []
    waiting = {call.id for call in list_calls(messages[-1])} if messages else set()
    for message in reversed(messages):
        call_ids = {call.id for call in list_calls(message)}
        answered.append(call_ids & waiting)
        waiting = (waiting - call_ids) | set(list_answered_ids(message))
    return answered[::-1]


def _filter_message(message: Message, *, calls: set[str], results: set[str]) -> Message | None:
    """Return the message with these calls and results only; None if nothing remains."""
    call_ids, answers = [call.id for call in list_calls(message)], list_answered_ids(message)
    if set(call_ids) <= calls and set(answers) <= results:
        return message
    if message["role"] == "tool":
        return None
    result = dict(message)
    if result.get("tool_calls"):
        result["tool_calls"] = [call for call in result["tool_calls"] if call["id"] in calls]
        if not result["tool_calls"]:
            del result["tool_calls"]
    if isinstance(result.get("content"), list):
        result["content"] = [part for part in result["content"] if _is_paired(part, calls, results)]
    return result if result.get("content") or result.get("tool_calls") else None


def _is_paired(part: Mapping[str, Any], calls: set[str], results: set[str]) -> bool:
    if part.get("type") == "tool_use":
        return part["id"] in calls
    return part.get("type") != "tool_result" or part["tool_use_id"] in results


def message_text(message: Message) -> str:
    """Return the text of a message without tool results."""
    if message["role"] == "tool":
        return ""
    if isinstance(message.get("content"), str):
        return str(message["content"])
    return "\n".join(
        part["text"]
        for part in content_parts(message)
        if part.get("type") == "text" and isinstance(part.get("text"), str)
    )


def last_user_text(messages: Sequence[Message]) -> str:
    """Return the last text that the user wrote, or an empty one."""
    by_user = (message for message in reversed(messages) if message["role"] == "user")
    return next((text for one in by_user if (text := message_text(one).strip())), "")


def uses_anthropic_format(messages: Sequence[Message]) -> bool:
    return any(
        part.get("type") in ("tool_use", "tool_result")
        for message in messages
        for part in content_parts(message)
    )
