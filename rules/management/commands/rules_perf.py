"""manage.py rules_perf: measure thousands of rules. Leaves no data behind."""

from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser
from django.http import QueryDict
from django.utils import timezone
from rest_framework.renderers import JSONRenderer

from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.management.argument_types import parse_count
from kmapp.management.benchmark import BenchmarkCommand, measure_seconds, temporary_account
from rules.actions.backtests import run_backtest
from rules.actions.decisions import evaluate_rules, record_selection
from rules.actions.record_versions import count_change
from rules.api.serialize_evaluations import EvaluationSerializer
from rules.evaluation.tool_selection import SelectionRequest
from rules.models import Rule, RuleBacktest, RuleDecision
from rules.views.decisions import load_decision_list

MATCHING = 50
BATCH_SIZE = 1_000
DEEP = "before=2999-01-01T00:00:00Z~ffffffff-ffff-ffff-ffff-ffffffffffff"
TOOLS = ("bash", "curl", "grep", "sed")
CONTEXT = {"intent": "match", "user": {"tier": "pro"}, "count": 3, "tags": ["a", "b"]}


class Command(BenchmarkCommand):
    help = (
        "Measure rule evaluation, tool selection and backtests in a separate account; rolled "
        "back at the end."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--rules", type=int, default=5_000)
        parser.add_argument("--decisions", type=int, default=10_000)
        parser.add_argument("--log", type=int, default=50_000, help="number of decisions")
        parser.add_argument(
            "--number", type=parse_count, default=200, help="number of requests of each kind"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with temporary_account() as account:
            create_rules(account, options["rules"])
            question = SelectionRequest(context=CONTEXT, candidates=TOOLS)

            def evaluate() -> None:
                answer = evaluate_rules(account.pk, question)
                serializer = EvaluationSerializer(account.pk, answer, MATCHING)
                JSONRenderer().render(serializer.serialize_evaluation(include_shadow=True))

            first = measure_seconds(evaluate)
            self.stdout.write(f"compiling {options['rules']:,} rules: {1000 * first:.0f} ms")
            number, decisions = options["number"], options["decisions"]
            self.measure("evaluate", evaluate, number)
            self.measure(
                "select and record", partial(record_selection, account.pk, SYSTEM, question), number
            )
            backtest_id = create_backtest(account.pk, decisions)
            elapsed = measure_seconds(partial(run_backtest, account.pk, backtest_id))
            self.stdout.write(f"backtest over {decisions:,} decisions: {elapsed:.1f} s")
            create_decisions(account.pk, max(0, options["log"] - decisions))
            for query in ("", DEEP, "selected_tool=bash", "kind=differs", "kind=rated"):
                work = partial(load_decision_list, account.pk, QueryDict(query))
                self.measure(f"log without statistics ?{query[:24]}", work, 10)


def create_rules(account: Account, number: int) -> None:
    """Create active and shadow rules, of which some match."""
    now = timezone.now()
    rules = []
    for i in range(number):
        key = uuid7()
        live = i % 5 > 0
        rules.append(
            Rule(
                id=key,
                account=account,
                commit_id=key,
                written_in=key,
                lineage=key,
                name=f"Rule {i}",
                when={
                    "intent": "match" if i < MATCHING else f"intent-{i % 997}",
                    "user.tier": {"$in": ["pro", "team"]},
                    "count": {"$gte": 1},
                },
                then={"tool": {"prefer": [TOOLS[i % 4]]}, "extensions": {f"k{i % 40}": i}},
                priority=i % 7,
                state=Rule.State.ACTIVE if live else Rule.State.SHADOW,
                shadowed_at=now,
                created_by="system",
                created_at=now,
                updated_at=now,
            )
        )
    Rule.objects.bulk_create(rules, batch_size=1000)
    book = type("Silent", (), {"id": uuid7(), "add": lambda *args: None})()
    count_change(account.pk, book)


def create_decisions(account_id: UUID, number: int) -> None:
    """Create decisions in batches, because the database ends an idle transaction."""
    now = timezone.now()
    for first in range(0, number, BATCH_SIZE):
        RuleDecision.objects.bulk_create(
            _build_decision(account_id, i, now)
            for i in range(first, min(first + BATCH_SIZE, number))
        )


def _build_decision(account_id: UUID, i: int, now: datetime) -> RuleDecision:
    return RuleDecision(
        id=uuid7(),
        account_id=account_id,
        context={**CONTEXT, "intent": f"intent-{i % 997}", "n": i},
        context_sha256="",
        candidates=list(TOOLS),
        considered=0,
        source_rule_ids=[],
        policy={},
        policy_sha256="",
        ordered=list(TOOLS),
        selected_tool=TOOLS[i % 4],
        differs=i % 9 == 0,
        created_by="system",
        created_at=now,
    )


def create_backtest(account_id: UUID, number: int) -> UUID:
    """Create decisions and a backtest on them; return its id."""
    create_decisions(account_id, number)
    rule = Rule.objects.of(account_id).filter(state=Rule.State.SHADOW).earliest("pk")
    rule.when = {"n": {"$gte": number // 2}}
    backtest = RuleBacktest(
        id=uuid7(),
        account_id=account_id,
        rule=rule,
        version=1,
        wanted=number,
        asked_by="system",
        created_at=timezone.now(),
    )
    rule.save(update_fields=["when"])
    backtest.save(force_insert=True)
    return backtest.pk
