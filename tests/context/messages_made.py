"""Conversations for tests, of both makes, with tools called once or several at a time."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

words = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30
)
results = st.one_of(words, words.map(lambda text: (text + "茶 tea ") * 40))


def openai_turn(draw: Any, number: int) -> list[dict[str, Any]]:
    turn: list[dict[str, Any]] = [{"role": "user", "content": draw(words)}]
    for step in range(draw(st.integers(0, 2))):
        ids = [f"call-{number}-{step}-{each}" for each in range(draw(st.integers(1, 2)))]
        calls = [
            {"id": each, "type": "function", "function": {"name": "search", "arguments": "{}"}}
            for each in ids
        ]
        turn.append({"role": "assistant", "content": None, "tool_calls": calls})
        for each in ids:
            text = draw(results)
            content: Any = text if draw(st.booleans()) else [{"type": "text", "text": text}]
            turn.append({"role": "tool", "tool_call_id": each, "content": content})
    return [*turn, {"role": "assistant", "content": draw(words) or "ok"}]


def anthropic_turn(draw: Any, number: int) -> list[dict[str, Any]]:
    turn: list[dict[str, Any]] = [{"role": "user", "content": draw(words)}]
    for step in range(draw(st.integers(0, 2))):
        ids = [f"use-{number}-{step}-{each}" for each in range(draw(st.integers(1, 2)))]
        uses = [{"type": "tool_use", "id": each, "name": "search", "input": {}} for each in ids]
        turn.append({"role": "assistant", "content": [{"type": "text", "text": "hm"}, *uses]})
        answers: list[dict[str, Any]] = []
        for each in ids:
            text = draw(results)
            content: Any = text if draw(st.booleans()) else [{"type": "text", "text": text}]
            answers.append({"type": "tool_result", "tool_use_id": each, "content": content})
        turn.append({"role": "user", "content": answers})
    return [*turn, {"role": "assistant", "content": draw(words) or "ok"}]


@st.composite
def conversations(draw: Any, most: int = 6) -> list[dict[str, Any]]:
    turn = openai_turn if draw(st.booleans()) else anthropic_turn
    system = [{"role": "system", "content": draw(words)}] if draw(st.booleans()) else []
    body = [message for at in range(draw(st.integers(0, most))) for message in turn(draw, at)]
    return [*system, *body, {"role": "user", "content": draw(words)}]


def unpaired(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Ids of results with no call right before them, and of calls with no result after them.

    Written without the product's own reading of messages.
    """
    waiting: list[str] = []
    wrong: list[str] = []
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else []
        answered = [part["tool_use_id"] for part in parts if part.get("type") == "tool_result"]
        if message["role"] == "tool":
            answered.append(message["tool_call_id"])
        for each in answered:
            if each in waiting:
                waiting.remove(each)
            else:
                wrong.append(each)
        if not answered:
            wrong += waiting
            waiting = []
        waiting += [call["id"] for call in message.get("tool_calls") or []]
        waiting += [part["id"] for part in parts if part.get("type") == "tool_use"]
    return wrong


def tool_turn(number: int, asked: str, answered: str) -> list[dict[str, Any]]:
    """A user asks, a tool is called and answers, the assistant sums up."""
    function = {"name": "search_manual", "arguments": '{"query": "it"}'}
    calls = [{"id": f"call-{number}", "type": "function", "function": function}]
    return [
        {"role": "user", "content": asked},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"call-{number}", "content": answered},
        {"role": "assistant", "content": f"It is well, as before, and will be {number}."},
    ]
