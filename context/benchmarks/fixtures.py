"""Conversations, tools and recorded calls of a known size, equal in every run."""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from context.models import ContextCostReport
from context.reports.call_report import SECTIONS
from kmapp.accounts.models import Account
from kmapp.text import token_counter

MESSAGES, TOKENS, TOOLS = 200, 100_000, 60
WORDS = ("kiln", "tea", "room", "pond", "hill", "morning", "bread", "茶室", "窑炉", "清晨", "钥匙")
_BATCH = 2_000  # rows per insert


def conversation(*, seed: int = 0) -> list[Any]:
    """Return turns of four messages (question, call, result, answer) and a last question."""
    rng = random.Random(seed)  # noqa: S311 - nothing secret
    tokens_each = TOKENS // MESSAGES
    history: list[dict[str, Any]] = []
    for turn in range((MESSAGES - 1) // 4):
        function = {"name": f"tool_{turn % TOOLS}", "arguments": '{"query": "kiln"}'}
        call = {"id": f"call-{turn}", "type": "function", "function": function}
        history += [
            {"role": "user", "content": _text(rng, tokens_each // 2)},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {
                "role": "tool",
                "tool_call_id": f"call-{turn}",
                "content": _text(rng, tokens_each * 3),
            },
            {"role": "assistant", "content": _text(rng, tokens_each // 2)},
        ]
    while len(history) < MESSAGES:
        history.append({"role": "user", "content": _text(rng, tokens_each // 2)})
    return history


def _text(rng: random.Random, size: int) -> str:
    return " ".join(rng.choices(WORDS, k=max(1, int(size / 1.7))))


def tools() -> list[dict[str, Any]]:
    return [
        {
            "type": "function",
            "function": {
                "name": f"tool_{index}",
                "description": f"Looks something up, in the way of number {index}. " * 4,
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
        for index in range(TOOLS)
    ]


def count_tokens(messages: Sequence[dict[str, Any]]) -> int:
    return sum(token_counter.count_tokens(message["content"] or "") for message in messages)


def fill_reports(account: Account, number: int) -> None:
    """Create calls over the last 30 days, of 50 agents with 60 tools; columns only."""
    now, schema = timezone.now(), {f"tool_{index}": 100 + index for index in range(TOOLS)}
    for first in range(0, number, _BATCH):
        ContextCostReport.objects.bulk_create(
            _report(account, index, now - timedelta(days=30) * (index / number), schema)
            for index in range(first, min(first + _BATCH, number))
        )


def _report(account: Account, index: int, moment: Any, schema: dict[str, int]) -> ContextCostReport:
    parts = dict(zip(SECTIONS, (900, sum(schema.values()), 5_000, 9_000, 100, 1_200), strict=True))
    return ContextCostReport(
        account=account,
        conversation_id=f"c{index % 5_000}",
        agent_id=f"agent-{index % 50}",
        model="small",
        variant="v1",
        window=128_000,
        reserve=4_096,
        total=sum(parts.values()),
        **parts,
        prefix_sha256=f"{index % 3}",
        actions=["prune_tool_results"] if index % 400 == 0 else [],
        tool_tokens=schema,
        called_tools=[f"tool_{index % 40}"],
        report={},
        created_by="system",
        created_at=moment,
        cost="0.01",
    )
