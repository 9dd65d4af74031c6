"""An account with history, and runs of fsck on its ledger."""

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import StringIO
from typing import Any

from django.core.management import CommandError, call_command

from context.actions.archives import store_archives
from context.actions.settings import change_settings
from context.models import ContextSettings
from context.models.archives import NewResult
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import remove_member, revoke_key
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.ledger.actions import recording
from kmapp.ledger.models import Commit
from memory.actions.feedback import rate_entry
from memory.actions.record_export import record_export
from memory.actions.review import Decision, edit, forget, pin, undo
from memory.actions.settings import update_policy
from memory.actions.write_entries import write_batch
from memory.models import MemoryExport
from memory.models.entry_input import Batch, EdgeEnd, NewEdge, NewEntry
from tests import makers
from tests.context.builders import fill_calls
from tests.kernel.fsck.tampering import Intruder
from tests.knowledge.builders import fill_knowledge
from tests.rules.builders import fill_rules

COMMITS = 12  # at least, of an account after `create_history`


@dataclass
class Ledger:
    """An account whose ledger fsck checks, and an intruder who tampers with its database."""

    account: Account
    intruder: Intruder

    def problems(self, *options: str) -> list[dict[str, Any]]:
        """Return the problems of `manage.py fsck --json`, which fails if there are any."""
        out, refusal = StringIO(), ""
        try:
            call_command("fsck", "--json", *options, stdout=out)
        except CommandError as error:
            refusal = str(error)
        report = json.loads(out.getvalue())
        assert report["ok"] == (not report["found"])
        assert refusal == (f"{report['found']:,} problems found." if report["found"] else "")
        problems: list[dict[str, Any]] = report["problems"]
        return problems

    def kinds(self, *options: str) -> set[str]:
        return {problem["kind"] for problem in self.problems(*options)}

    def ids(self, table: str) -> list[Any]:
        return [row[0] for row in self.intruder.run(f"SELECT id FROM {table} ORDER BY id")]  # noqa: S608

    def links(self) -> list[Any]:
        with acting(self.account):
            return [row.link() for row in Commit.objects.of(self.account).order_by("seq")]


def create_history(account: Account) -> None:
    slug = account.slug
    key, _secret = makers.key(account)
    member = makers.member(account, f"boss-{slug}", role="admin")
    leaver = makers.member(account, f"leaver-{slug}", role="editor")
    drafts = [
        NewEntry(
            text="Mira drinks tea.", metadata={"when": 1e15, "rate": 0.1, "deep": [{"a": None}]}
        ),
        NewEntry(text="米拉喝茶。", user_id="u1", run_id="r1", tags=["tea", "茶"], importance=1.0),
        NewEntry(
            text="Mira left.", user_id="u1", observed_at=datetime(2026, 1, 2, 3, 4, 5, 6, UTC)
        ),
    ]
    entries = [EdgeEnd(client_id=str(place)) for place in range(len(drafts))]
    named = [replace(draft, client_id=str(place)) for place, draft in enumerate(drafts)]
    edges = [NewEdge(type="related_to", src=entries[1], dst=entries[2], weight=0.25)]
    with acting(account):
        batch = Batch(entries=named, edges=edges, input="a talk")
        made = write_batch(account_id=account.pk, actor=SYSTEM, batch=batch).entries
        one, two, _three = (
            Decision(account_id=account.pk, entry_id=entry.pk, actor=SYSTEM, reason="because")
            for entry in made
        )
        edit(one, {"content": "Mira drinks oolong.", "slots": {"n": [1, 2.5, -0.0]}})
        pin(two)
        forget(two)
        undo(two)
        rate_entry(two, "positive", used_in="r1")
        makers.learned_ranking(made[0])
        record_export(account.pk, SYSTEM, form=MemoryExport.Form.CSV, query="kind=fact", number=2)
        account.redact, account.account_wide = ["email"], "apply"
        with recording(account.pk, SYSTEM) as commit:
            commit.update(account, "redact", "account_wide")
        policy = {"forget_after": {"event": 90}, "min_score": 0.1}
        policy |= {"daily_writes": 90_000, "open_proposals": 900}
        update_policy(account.pk, policy, actor=SYSTEM)
        fill_rules(account)
        results = [
            NewResult(
                text=f"The kiln takes {n} hours. 窑炉{n}小时。",
                tool_name="look",
                tool_input={"query": "kiln", "top": n},
                conversation_id="r1",
                thread_id="t1",
                user_id="u1",
                agent_id="a1",
                tool_call_id=f"call{n}",
                sources=["manual.md"],
            )
            for n in (8, 9)
        ]
        store_archives(ContextSettings.objects.get_or_default(account.pk), SYSTEM, results)
        values = {
            "across_conversations": True,
            "tool_thresholds": {"look": 9},
            "prices": {"small": {"input": 0.5, "output": 2}},
            "inputs_days": 9,
        }
        change_settings(account.pk, values, actor=SYSTEM)
        makers.webhook(account, f"hook-{slug}")
        makers.invitation(account, f"{slug}@example.test")
        makers.company_sign_in(account, member, slug)
        revoke_key(key, actor=SYSTEM)
        remove_member(leaver.memberships.get(), actor=SYSTEM)
        assert member.memberships.get().role == "admin"
    fill_knowledge(account, 2)
    fill_calls(account)
