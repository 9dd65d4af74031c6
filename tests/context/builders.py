"""Conversations, assembled calls and settings for tests."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from django.utils import timezone
from hypothesis import strategies as st

from context.actions.assemble import assemble_call
from context.actions.comparisons import ComparisonRequest, run_comparison, start_comparison
from context.actions.replays import NO_CHANGES, Changes
from context.actions.settings import change_settings
from context.assembly.stage_data import AssemblyRequest, Recorded
from context.models import ContextCitation
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account

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
        if draw(st.booleans()):
            answers.append({"type": "text", "text": draw(words)})
        turn.append({"role": "user", "content": answers})
    return [*turn, {"role": "assistant", "content": draw(words) or "ok"}]


@st.composite
def conversations(draw: Any, most: int = 6) -> list[dict[str, Any]]:
    turn = openai_turn if draw(st.booleans()) else anthropic_turn
    system = [{"role": "system", "content": draw(words)}] if draw(st.booleans()) else []
    body = [message for at in range(draw(st.integers(0, most))) for message in turn(draw, at)]
    return [*system, *body, {"role": "user", "content": draw(words)}]


def unpaired(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return ids of results without a call right before them, and of calls without a result.

    Shares no code with the product's reading of messages.
    """
    waiting: list[str] = []
    unmatched: list[str] = []
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
                unmatched.append(each)
        if not answered:
            unmatched += waiting
            waiting = []
        waiting += [call["id"] for call in message.get("tool_calls") or []]
        waiting += [part["id"] for part in parts if part.get("type") == "tool_use"]
    return unmatched


def tool_turn(number: int, question: str, result: str) -> list[dict[str, Any]]:
    """Return a question, a tool call, its result and the answer."""
    function = {"name": "search_manual", "arguments": '{"query": "it"}'}
    calls = [{"id": f"call-{number}", "type": "function", "function": function}]
    return [
        {"role": "user", "content": question},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": f"call-{number}", "content": result},
        {"role": "assistant", "content": f"It is well, as before, and will be {number}."},
    ]


def talk(turns: int, *, characters: int = 2_000, word: str = "kiln") -> list[dict[str, Any]]:
    """Return turns of a question, a long tool result and an answer, and a last question."""
    filler = f"The {word} is looked after by somebody every morning at six. " * (
        characters // 55 + 1
    )
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages += tool_turn(turn, f"How is the {word} {turn}?", filler[:characters])
    return [*messages, {"role": "user", "content": f"And the {word} now?"}]


def tool(name: str, *, words: int = 10) -> dict[str, Any]:
    """Return a tool with a description of this many words."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    function = {"name": name, "description": "word " * words, "parameters": schema}
    return {"type": "function", "function": function}


def configure(account: Account, **values: Any) -> None:
    """Change the context settings of an account."""
    with acting(account):
        change_settings(account.pk, values, actor=SYSTEM)


def set_prices(account: Account, **prices: Mapping[str, float]) -> None:
    """Set what a million tokens of each model cost."""
    configure(account, prices=prices)


def call(account: Account, messages: list[dict[str, Any]], **more: Any) -> Recorded:
    """Assemble a call, without sources unless they are given."""
    values = {
        "window": 20_000,
        "reserve": 1_000,
        "within": ArchiveScope(conversation_id="c1"),
        **more,
    }
    request = AssemblyRequest(account_id=account.pk, actor=SYSTEM, messages=messages, **values)
    return assemble_call(request)


def fill_calls(account: Account, number: int = 2, *, word: str = "kiln") -> None:
    """Create `number` summarised calls, each of a long conversation, and as many comparisons."""
    for each in range(number):
        recorded = call(
            account,
            talk(6, characters=600, word=f"{word}{each}"),
            window=1_000,
            reserve=100,
            within=ArchiveScope(conversation_id=f"run-{word}-{each}", user_id=f"user-{word}"),
            policy={"least_turns": 6, "summary_tokens": 100, "prune": []},
        )
        with acting(account):
            ContextCitation.objects.create(
                account=account,
                report_id=recorded.report_id,
                ref=uuid4(),
                created_at=timezone.now(),
            )
    for each in range(number):
        right = Changes(policy={"summary_tokens": 60 + each})
        with acting(account):
            comparison = start_comparison(
                account.pk, SYSTEM, ComparisonRequest(left=NO_CHANGES, right=right, calls=1)
            )
        run_comparison(account.pk, comparison.pk)
