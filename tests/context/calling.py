"""Calls that were assembled, and conversations that need one."""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from django.utils import timezone

from context.actions.assemble import assemble_call
from context.actions.comparisons import ComparisonRequest, run_comparison, start_comparison
from context.actions.replays import NO_CHANGES, Changes
from context.actions.settings import change_settings
from context.assembly.stages import Recorded, Request
from context.models import ContextCitation
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from tests.context.messages_made import tool_turn


def talk(turns: int, *, characters: int = 2_000, word: str = "kiln") -> list[dict[str, Any]]:
    """Turns of a user who asks, a tool that answers at length, and an assistant."""
    filler = f"The {word} is looked after by somebody every morning at six. " * (
        characters // 55 + 1
    )
    messages: list[dict[str, Any]] = []
    for turn in range(turns):
        messages += tool_turn(turn, f"How is the {word} {turn}?", filler[:characters])
    return [*messages, {"role": "user", "content": f"And the {word} now?"}]


def tool(name: str, *, words: int = 10) -> dict[str, Any]:
    """A tool whose description is as long as that."""
    schema = {"type": "object", "properties": {"query": {"type": "string"}}}
    said = {"name": name, "description": "word " * words, "parameters": schema}
    return {"type": "function", "function": said}


def priced(account: Account, **prices: Mapping[str, float]) -> None:
    """What a million tokens of models cost."""
    with acting(account):
        change_settings(account.pk, {"prices": prices}, actor=SYSTEM)


def call(account: Account, messages: list[dict[str, Any]], **more: Any) -> Recorded:
    """Assemble it without looking for anything, unless that is asked for."""
    asked = {
        "window": 20_000,
        "reserve": 1_000,
        "within": ArchiveScope(conversation_id="c1"),
        **more,
    }
    request = Request(account_id=account.pk, actor=SYSTEM, messages=messages, **asked)
    return assemble_call(request)


def fill_calls(account: Account, number: int = 2, *, word: str = "kiln") -> None:
    """As many calls as that, each of a conversation so long that it had to be summed up."""
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
            made = start_comparison(
                account.pk, SYSTEM, ComparisonRequest(left=NO_CHANGES, right=right, calls=1)
            )
        run_comparison(account.pk, made.pk)
