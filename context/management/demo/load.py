"""Loading of the demo's model calls: a month of conversations with tool results and outcomes."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from context.actions.assemble import assemble_call
from context.actions.record_call import record_outcome
from context.actions.settings import change_settings
from context.assembly.stage_data import AssemblyRequest, Recorded
from context.models import ContextCostReport, ContextSettings
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.management.demo.actors import DemoActors
from memory.actions.write_entries import write_batch
from memory.models.entry_input import Batch, NewEntry

LABEL = _("Model calls")
SUMMARY = """\
{new} model calls added to {account}, in conversations of the last {days} days.

  Their sessions, in order of time:
    {sessions}
  Their costs by section, agent and tool:
    {costs}
"""
TALKS_IN_MEMORY = 3  # the latest conversations, whose questions are memories
LENGTH_OF_A_TALK = timedelta(minutes=15)
REPEATS = 30  # of the text of a tool result on the first day; each day has a little more


def list_data(account_id: UUID) -> QuerySet[ContextCostReport]:
    return ContextCostReport.objects.of(account_id)


def load_demo(actors: DemoActors) -> str:
    """Assemble the calls once, and date them back to the days of their conversations.

    After an interruption, the missing ones are assembled.
    """
    data = json.loads(Path(__file__).with_name("calls.json").read_text())
    with acting(actors.account):
        calls = ContextCostReport.objects.of(actors.account).filter(model=data["model"])
        existing = Counter(calls.values_list("conversation_id", flat=True))
    total = sum(len(_get_talk(data, ago)["turns"]) for ago in range(data["days"]))
    new = 0 if existing.total() >= total else len(list(_load(actors, data, existing)))
    return SUMMARY.format(
        new=new,
        account=actors.account.name,
        days=data["days"],
        sessions=actors.here + reverse("context:sessions"),
        costs=actors.here + reverse("context:costs"),
    )


def _get_talk(data: Mapping[str, Any], ago: int) -> Mapping[str, Any]:
    """Return the conversation of the day that was so many days ago."""
    talks: list[Mapping[str, Any]] = data["conversations"]
    return talks[ago % len(talks)]


def _load(
    actors: DemoActors, data: Mapping[str, Any], existing: Counter[str]
) -> Iterator[Recorded]:
    _set_price(actors, data)
    today, just_now = timezone.localdate(), timezone.now() - LENGTH_OF_A_TALK
    for ago in reversed(range(data["days"])):
        talk, day = _get_talk(data, ago), today - timedelta(days=ago)
        run_id = f"{talk['id']}-{day}"
        start = min(timezone.make_aware(datetime.combine(day, time(9))), just_now)
        if ago < TALKS_IN_MEMORY:
            _remember(actors, talk, start, run_id=run_id)
        for turn in range(1 + existing[run_id], len(talk["turns"]) + 1):
            request = _build_request(actors, data, talk, turn, run_id=run_id)
            recorded = assemble_call(request)
            _date_back(actors, recorded, start + turn * timedelta(minutes=3))
            yield recorded


def _remember(actors: DemoActors, talk: Mapping[str, Any], start: datetime, *, run_id: str) -> None:
    """Store the questions of a conversation as its memories."""
    entries = [
        NewEntry(
            client_id=f"demo-{run_id}-{number}",
            text=text,
            kind="event",
            metadata={"speaker": talk["user"]},
            user_id=talk["user"],
            agent_id=talk["agent"],
            app_id=talk["app"],
            run_id=run_id,
            visibility="user",
            observed_at=start + number * timedelta(minutes=3) - timedelta(seconds=20),
        )
        for number, text in enumerate(talk["turns"], 1)
    ]
    with acting(actors.account):
        write_batch(
            account_id=actors.account.pk,
            actor=actors.agent,
            batch=Batch(entries=entries, reason="demo"),
        )


def _set_price(actors: DemoActors, data: Mapping[str, Any]) -> None:
    """Set a price for the demo's model, in an account without prices."""
    with acting(actors.account):
        if not ContextSettings.objects.get_or_default(actors.account.pk).prices:
            prices = {data["model"]: data["price"]}
            change_settings(actors.account.pk, {"prices": prices}, actor=actors.person)


def _build_request(
    actors: DemoActors, data: Mapping[str, Any], talk: Mapping[str, Any], turn: int, *, run_id: str
) -> AssemblyRequest:
    """Return the call of one turn: the conversation so far, with a tool result before each turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": data["instructions"]}]
    for number, text in enumerate(talk["turns"][:turn]):
        if number:
            messages += _tool_messages(talk, number)
        messages.append({"role": "user", "content": text})
    return AssemblyRequest(
        account_id=actors.account.pk,
        actor=actors.agent,
        messages=messages,
        window=data["window"],
        reserve=data["reserve"],
        tools=[{"type": "function", "function": tool} for tool in data["tools"]],
        within=ArchiveScope(conversation_id=run_id, user_id=talk["user"]),
        agent_id=talk["agent"],
        app_id=talk["app"],
        model=data["model"],
        sources=("memory", "knowledge", "rules"),
    )


def _tool_messages(talk: Mapping[str, Any], number: int) -> list[dict[str, Any]]:
    call = {"id": f"call-{number}", "type": "function"}
    function = {"name": talk["tool"], "arguments": "{}"}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{**call, "function": function}]},
        {"role": "tool", "tool_call_id": call["id"], "content": talk["result"] * REPEATS * number},
    ]


def _date_back(actors: DemoActors, recorded: Recorded, moment: datetime) -> None:
    """Report an outcome, and move the report to its day. Reports are not part of the ledger."""
    total = recorded.report["estimated_tokens"]["total"]
    outcome = {
        "success": moment.day % 9 != 0,
        "input_tokens": total,
        "output_tokens": 60 + total % 90,
        "cached_tokens": total // 3,
        "latency_ms": 700 + total % 900,
    }
    with acting(actors.account):
        row = record_outcome(actors.account.pk, recorded.report_id, outcome)
        row.created_at, row.outcome_at = moment, moment
        row.save(update_fields=["created_at", "outcome_at"])
