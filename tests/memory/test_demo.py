"""The demo contains every kind of memory, rule and document."""

from dataclasses import dataclass
from itertools import count

import pytest
from pytest_django import DjangoDbBlocker, Settings

from context.actions.assemble import assemble_call
from context.assembly.stage_data import AssemblyRequest, Recorded
from context.models import ContextCostReport
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from knowledge.lore.account_lorebooks import evaluate_entries, load_entries
from knowledge.lore.lorebook_evaluation import TriggerSettings
from knowledge.models import KnowledgeDocument, KnowledgeQuestion
from knowledge.retrieval import search as knowledge
from memory.models import MemoryEdge, MemoryEntry, MemoryVersion, Viewer
from memory.retrieval.search import SearchRequest, search_memories
from rules.models import Rule, RuleDecision
from rules.promotion.evidence import load_evidence
from rules.promotion.gate import evaluate_gate, load_settings
from tests import makers
from tests.makers import missing

Status = MemoryEntry.Status


@dataclass(frozen=True)
class LoadedDemo:
    account: Account
    reviewer: User
    output: str


@pytest.fixture(scope="module")
def module_demo(module_database: None, django_db_blocker: DjangoDbBlocker) -> LoadedDemo:
    """The demo data, loaded and processed once for all tests of this module."""
    with django_db_blocker.unblock():
        account = makers.account("Acme")
        reviewer = makers.member(account, "ada", role="admin")
        loaded = LoadedDemo(account, reviewer, makers.run_command("demo"))
        makers.settle()
        return loaded


@pytest.fixture
def loaded(module_demo: LoadedDemo, db: None) -> LoadedDemo:
    return module_demo


def test_demo_contains_every_kind_of_entry(loaded: LoadedDemo) -> None:
    acme, ada = loaded.account, loaded.reviewer
    with acting(acme):
        rows = MemoryEntry.objects.of(acme)
        assert set(rows.values_list("status", flat=True)) == {"active", "proposed", "forgotten"}
        assert rows.filter(status=Status.PROPOSED).exclude(visibility="account").count() == 0
        flagged = {flag for each in rows.values_list("flags", flat=True) for flag in each}
        assert flagged >= {"instructions", "hidden_characters"}
        assert rows.filter(content__contains="[email]").count() == 1
        assert rows.filter(pinned=True).count() == 4
        assert rows.exclude(run_id="").values("run_id").distinct().count() == 7
        supersedes = MemoryEdge.objects.filter(type="supersedes").select_related("src", "dst")
        assert {(e.src.status, e.dst.status) for e in supersedes} == {("proposed", "active")}
        kinds = {actor.partition(":")[0] for actor in rows.values_list("created_by", flat=True)}
        assert kinds == {"key"}
        decided = MemoryVersion.objects.filter(event__in=["APPROVE", "PIN", "FORGET"])
        assert set(decided.values_list("actor", flat=True)) == {f"user:{ada.pk}"}


def test_output_states_counts_and_addresses(loaded: LoadedDemo) -> None:
    acme, page = loaded.account, loaded.output
    with acting(acme):
        calls = ContextCostReport.objects.of(acme).values("conversation_id")
        # Exclude the questions of the sample calls, which are stored as memories, too.
        total = MemoryEntry.objects.of(acme).exclude(run_id__in=calls).count()
        waiting = MemoryEntry.objects.of(acme).awaiting_review().count()
    assert f"{total} memories added to Acme; 0 already existed" in page
    assert missing(page, f"{waiting} pending proposals", "/review/") == []


def test_loading_again_changes_nothing(loaded: LoadedDemo) -> None:
    acme = loaded.account
    with acting(acme):
        before = Commit.objects.count()
        forgotten = MemoryEntry.objects.filter(pinned=True)[0]
        MemoryEntry.objects.filter(pk=forgotten.pk).update(pinned=False)
    output = makers.run_command("demo")
    assert "0 memories added to Acme" in output
    assert "0 rules added to Acme, with 0 decisions." in output
    assert "0 documents and 0 lore entries added" in output
    with acting(acme):
        assert Commit.objects.count() == before
        assert MemoryEntry.objects.filter(pinned=True).count() == 3


QUESTIONS = [
    ("which evening suits the pottery club?", "mira-tallow", "Thursdays"),
    ("除湿机报警怎么办", "shen-ji", "浮子"),
    ("what does a blue blinking kettle mean?", "jonas-quill", "blue"),
    ("伴手茶什么时候要送到", "gu-xiaoman", "二十六"),
]


def test_demo_queries_are_answered(loaded: LoadedDemo) -> None:
    for question, user, expected in QUESTIONS:
        result = search_memories(
            loaded.account.pk, SearchRequest(query=question, viewer=Viewer(user_id=user), limit=3)
        )
        assert any(expected in hit.entry.content for hit in result.hits), question


def test_demo_contains_rules_of_every_state(loaded: LoadedDemo) -> None:
    assert "8 rules added to Acme, with 120 decisions." in loaded.output
    with acting(loaded.account) as account_id:
        rules = Rule.objects.of(account_id)
        assert set(rules.values_list("state", flat=True)) == {*Rule.State.values}
        assert all(rule.summary.isascii() or not rule.name.isascii() for rule in rules)
        angry = rules.get(client_id="demo-angry")
        assert evaluate_gate(load_evidence(angry), load_settings(account_id)).is_open
        limit = rules.get(client_id="demo-refund-limit")
        editions = rules.filter(lineage=limit.lineage).values_list("state", flat=True)
        assert sorted(editions) == ["active", "draft"]
        decisions = RuleDecision.objects.of(account_id)
        assert decisions.exclude(conflicts=[]).exists()
        assert decisions.filter(differs=True).exists()


def test_demo_contains_documents_and_lore(loaded: LoadedDemo) -> None:
    assert "6 documents and 4 lore entries added" in loaded.output
    with acting(loaded.account) as account_id:
        rows = KnowledgeDocument.objects.of(account_id)
        assert set(rows.filter(state="failed").values_list("ref", flat=True)) == {"price-list.docx"}
        assert rows.get(ref="rooms/harrowgate.md").version == 2
        assert KnowledgeQuestion.objects.of(account_id).count() == 2
        fired = evaluate_entries(
            load_entries(account_id), ["Tell me of rock tea."], TriggerSettings()
        ).included
    assert [each.entry.id and each.reason for each in fired] == ["constant", "key"]
    question = knowledge.KnowledgeSearch(query="What takes forty seconds with oolong?")
    [best, *_] = knowledge.search(loaded.account.pk, question).snippets
    assert best.chunks[0].document.ref == "brewing.md"


def test_system_decides_without_a_reviewer(
    committed: str, acme: Account, settings: Settings
) -> None:
    settings.DEMO_LOADERS = settings.DEMO_LOADERS[:1]  # loads only memories
    makers.run_command("demo")
    with acting(acme):
        decided = MemoryVersion.objects.filter(event="APPROVE")
        assert set(decided.values_list("actor", flat=True)) == {"system"}


def test_interrupted_load_of_calls_is_continued(
    committed: str, acme: Account, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DEMO_LOADERS = ["context.management.demo.load"]
    numbers = count()

    def assemble_until_stopped(request: AssemblyRequest) -> Recorded:
        if next(numbers) == 4:
            raise RuntimeError("stopped")
        return assemble_call(request)

    monkeypatch.setattr("context.management.demo.load.assemble_call", assemble_until_stopped)
    with pytest.raises(RuntimeError, match="stopped"):
        makers.run_command("demo")
    assert makers.run_command("demo").startswith("86 model calls added")
    assert makers.run_command("demo").startswith("0 model calls added")


def test_interrupted_load_of_documents_is_continued(
    committed: str, acme: Account, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DEMO_LOADERS = ["knowledge.management.demo.load"]
    with monkeypatch.context() as patched:
        patched.setattr("knowledge.management.demo.load.prepare_deliveries", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            makers.run_command("demo")
    assert makers.run_command("demo").startswith("6 documents and 4 lore entries added")
    assert makers.run_command("demo").startswith("0 documents and 0 lore entries added")
