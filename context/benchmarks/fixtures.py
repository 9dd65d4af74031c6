"""Conversations, tools and recorded calls of a known size. The same every time."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from context.models import ContextCostReport
from context.reports.call_report import SECTIONS
from kmapp.accounts.models import Account
from kmapp.text import tokens

MESSAGES, TOKENS, TOOLS = 200, 100_000, 60
WORDS = ("kiln", "tea", "room", "pond", "hill", "morning", "bread", "茶室", "窑炉", "清晨", "钥匙")
_PIECE = 2_000  # rows that are written together


def conversation(*, messages: int = MESSAGES, size: int = TOKENS, seed: int = 0) -> list[Any]:
    """Turns of four messages (question, call, result, answer) and a last question."""
    chance = random.Random(seed)  # noqa: S311 - nothing secret
    each = size // messages
    said: list[dict[str, Any]] = []
    for turn in range((messages - 1) // 4):
        function = {"name": f"tool_{turn % TOOLS}", "arguments": '{"query": "kiln"}'}
        call = {"id": f"call-{turn}", "type": "function", "function": function}
        said += [
            {"role": "user", "content": _text(chance, each // 2)},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"call-{turn}", "content": _text(chance, each * 3)},
            {"role": "assistant", "content": _text(chance, each // 2)},
        ]
    while len(said) < messages:
        said.append({"role": "user", "content": _text(chance, each // 2)})
    return said


def _text(chance: random.Random, size: int) -> str:
    """About that many tokens."""
    return " ".join(chance.choices(WORDS, k=max(1, int(size / 1.7))))


def tools(number: int = TOOLS) -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": f"tool_{at}",
                "description": f"Looks something up, in the way of number {at}. " * 4,
                "parameters": {
                    "type": "object",
                    "properties": {
                        name: {"type": "string", "description": f"What {name} says."}
                        for name in ("query", "where", "until")
                    },
                    "required": ["query"],
                },
            },
        }
        for at in range(number)
    ]


def size_of(messages: Sequence[dict[str, Any]]) -> int:
    return sum(tokens.count(message["content"] or "") for message in messages)


def fill_reports(account: Account, number: int) -> None:
    """As many calls in the last 30 days, of 50 agents, offering 60 tools. Only their columns."""
    now, schema = timezone.now(), {f"tool_{at}": 100 + at for at in range(TOOLS)}
    for first in range(0, number, _PIECE):
        ContextCostReport.objects.bulk_create(
            _report(account, at, now - timedelta(days=30) * (at / number), schema)
            for at in range(first, min(first + _PIECE, number))
        )


def _report(account: Account, at: int, moment: Any, schema: dict[str, int]) -> ContextCostReport:
    parts = dict(zip(SECTIONS, (900, sum(schema.values()), 5_000, 9_000, 100, 1_200), strict=True))
    return ContextCostReport(
        account=account,
        conversation_id=f"c{at % 5_000}",
        agent_id=f"agent-{at % 50}",
        model="small",
        variant="v1",
        window=128_000,
        reserve=4_096,
        total=sum(parts.values()),
        **parts,
        prefix_sha256=f"{at % 3}",
        actions=["prune_tool_results"] if at % 400 == 0 else [],
        tool_tokens=schema,
        called_tools=[f"tool_{at % 40}"],
        report={},
        created_by="system",
        created_at=moment,
        cost="0.01",
    )
