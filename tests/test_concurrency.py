"""Concurrent equal requests take effect once, and no data of either is lost."""

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from context.actions.record_call import record_outcome
from context.models import ContextCostReport
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.erasure_registry import erase_personal_data
from kmapp.accounts.models import Account, Membership, User
from kmapp.errors import Conflict, NotFound
from kmapp.ledger.actions import recording
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeDocument, KnowledgeSource
from rules.actions.feedback import FeedbackResult, ReportedOutcome, rate_decision
from rules.evaluation.matching import RuleViewer
from rules.evaluation.tool_selection import SelectionRequest
from rules.models import RuleDecision, RuleFeedback
from tests.context.builders import call, talk
from tests.makers import PASSWORD
from tests.race import run_concurrently
from tests.rules.builders import TOOLS, select

pytestmark = pytest.mark.usefixtures("module_commits")
DOCS = NewSource(name="docs", kind="file_set")


def post_during_creation(account: Account, agent: Client, path: str, body: dict[str, Any]) -> Any:
    """Post to an endpoint of knowledge while another request creates the source it names."""
    return run_concurrently(
        account,
        lambda: ensure_source(account.pk, SYSTEM, DOCS),
        lambda: agent.post(f"/v1/knowledge/{path}", body, content_type="application/json"),
    )


def test_concurrent_creation_makes_one_source(acme: Account, agent: Client) -> None:
    body = {"name": "docs", "kind": "file_set", "revision": "r2"}
    answer = post_during_creation(acme, agent, "sources", body)
    assert answer.status_code == 200
    with acting(acme):
        assert KnowledgeSource.objects.of(acme).get().revision == "r2"


def test_concurrent_first_delivery_makes_one_source(acme: Account, agent: Client) -> None:
    documents = [{"ref": "tea.md", "text": "Oolong is partly oxidised."}]
    body = {"source": {"name": "docs"}, "documents": documents}
    answer = post_during_creation(acme, agent, "ingest", body)
    assert answer.status_code == 201
    with acting(acme):
        source = KnowledgeSource.objects.of(acme).get()
        assert KnowledgeDocument.objects.of(acme).get().source_id == source.pk


def test_concurrent_source_name_keeps_its_first_kind(acme: Account) -> None:
    def create_lorebook() -> None:
        with acting(acme):
            ensure_source(acme.pk, SYSTEM, NewSource(name="docs", kind="lorebook"))

    with pytest.raises(Conflict, match="of “docs” is file_set"):
        run_concurrently(acme, lambda: ensure_source(acme.pk, SYSTEM, DOCS), create_lorebook)


def test_concurrent_feedback_without_a_decision_counts_once(acme: Account) -> None:
    verdict = ReportedOutcome(account_id=acme.pk, actor=SYSTEM, outcome="positive", run_id="run-1")
    question = SelectionRequest(
        context={"intent": "fetch"}, viewer=RuleViewer(), candidates=("bash", "curl")
    )

    def rate() -> FeedbackResult:
        with acting(acme):
            return rate_decision(verdict, question, "curl", None)

    second = run_concurrently(acme, rate, rate)
    assert (second.fresh, second.link) == (False, "created_from_feedback")
    with acting(acme):
        assert RuleFeedback.objects.of(acme).get().decision == RuleDecision.objects.of(acme).get()


def test_feedback_waits_for_the_erasure_of_its_decision(acme: Account) -> None:
    decision = select(acme, {"intent": "fetch"}, user_id="ann").decision

    def erase() -> None:
        with recording(acme.pk, SYSTEM) as commit:
            erase_personal_data(acme.pk, ["ann"], commit)

    def rate() -> FeedbackResult:
        verdict = ReportedOutcome(account_id=acme.pk, actor=SYSTEM, outcome="positive")
        question = SelectionRequest(context={}, viewer=RuleViewer(user_id="ann"), candidates=TOOLS)
        with acting(acme):
            return rate_decision(verdict, question, decision.selected_tool, decision.pk)

    with pytest.raises(NotFound, match="Decision not found"):
        run_concurrently(acme, erase, rate)
    call_command("fsck", account=acme.slug, stdout=io.StringIO())


def test_concurrent_member_creation_adds_one_member(acme: Account) -> None:
    user = User.objects.create_user("newer@example.test", "newer@example.test", PASSWORD)

    def add() -> None:
        with acting(acme):
            add_member(account_id=acme.pk, user=user, role="editor", actor=SYSTEM)

    with pytest.raises(Conflict, match="already a member"):
        run_concurrently(acme, add, add)
    with acting(acme):
        assert Membership.objects.of(acme).count() == 1


def test_concurrent_member_addition_reports_a_conflict(acme: Account, ada: User) -> None:
    client, email = Client(), "new@example.test"
    client.force_login(ada)
    form = {"email": email, "name": "New", "role": "reviewer", "password": PASSWORD}

    def add() -> None:
        user = User.objects.create_user(email, email, PASSWORD)
        add_member(account_id=acme.pk, user=user, role="editor", actor=SYSTEM)

    answer = run_concurrently(acme, add, lambda: client.post("/members/new/", form))
    assert answer.status_code == 409
    assert "already a member" in answer.content.decode()
    assert User.objects.filter(email=email).count() == 1


def test_concurrent_outcomes_are_both_stored(acme: Account) -> None:
    pk = call(acme, talk(1)).report_id

    def report_usage() -> None:
        with acting(acme):
            record_outcome(acme.pk, pk, {"input_tokens": 12, "output_tokens": 3})

    run_concurrently(acme, lambda: record_outcome(acme.pk, pk, {"success": True}), report_usage)
    with acting(acme):
        row = ContextCostReport.objects.of(acme).get(pk=pk)
    assert (row.success, row.input_tokens, row.output_tokens) == (True, 12, 3)
