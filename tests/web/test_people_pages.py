"""The page of one person: counts, sessions, the export of everything, and its record."""

import json
import re
from typing import Any

import pytest
from django.apps import apps
from django.test import Client
from django.urls import reverse

from context.assembly.prompt_inputs import Section
from context.models import ContextBody
from context.models.archives import ArchiveScope
from context.reports.personal_data_export import SOURCES, count_rows, export_person
from context.reports.sessions import list_sessions_of
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions.judgements import NewJudgement, store_judgements
from memory.models import Extraction, Judgement, MemoryExport, RankingComparison, Viewer
from rules.models import RuleDecision
from tests import makers
from tests.context.builders import call, tool
from tests.rules.builders import select
from tests.web.pages import page

pytestmark = pytest.mark.django_db
PAGE, EXPORT = reverse("context:person"), reverse("context:person_export")


@pytest.fixture
def mira(acme: Account, rival: Account) -> None:
    """Create data of Mira and another person in Acme, and of a Mira in another account."""
    makers.write(acme, "Prefers e-mail to phone calls.", user_id="mira", run_id="tea-1")
    makers.write(acme, "Jonas keeps bees.", user_id="jonas")
    makers.write(rival, "A secret of the rival.", user_id="mira")
    makers.agent(acme).post(
        "tool-results", {"tool_name": "hours", "result": "nine " * 3_000, "user_id": "mira"}
    )
    call(
        acme,
        [{"role": "user", "content": "When do you open?"}],
        within=ArchiveScope(conversation_id="tea-1", user_id="mira"),
        tools=[tool("opening_hours")],
        sections=[Section(name="facts", text="Fridays until eight.")],
        sources=("memory",),
        query="e-mail or phone calls",
    )


@pytest.mark.usefixtures("mira")
def test_the_page_counts_what_is_stored_about_a_person(reviewer: Client, max_queries: Any) -> None:
    with max_queries(16):
        reviewer.get(PAGE, {"user": "mira"})
    text = page(reviewer.get(PAGE, {"user": "mira"}))
    assert makers.missing(text, "tea-1", "model calls", "tool results") == []
    assert "parts of calls" not in text  # too slow to count
    assert "Export everything" not in text  # reviewers cannot export everything
    assert "Nothing stored" in reviewer.get(PAGE, {"user": "nobody"}).content.decode()
    assert "Enter a user ID" in reviewer.get(PAGE).content.decode()


@pytest.mark.usefixtures("mira")
def test_the_export_holds_everything_about_one_person_of_one_account(
    admin: Client, acme: Account
) -> None:
    for user in ("", "nobody"):
        assert "stores nothing under" in page(admin.post(EXPORT, {"user": user}), 404)
    assert makers.rows(MemoryExport, acme) == []
    answer = admin.post(EXPORT, {"user": "mira"})
    lines = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]  # type: ignore[attr-defined]
    kinds = {line["type"] for line in lines}
    assert kinds == {"memory", "memory_version", "tool_result", "call", "call_input", "call_part"}
    text = json.dumps(lines)
    assert "Prefers e-mail" in text
    assert "When do you open?" in text
    parts = {line["id"] for line in lines if line["type"] == "call_part"}
    assert parts == {str(body.pk) for body in makers.rows(ContextBody, acme)}
    assert len(parts) == 4  # a message, a tool, a section and a memory
    assert "bees" not in text
    assert "secret" not in text
    [record] = makers.rows(MemoryExport, acme)
    assert (record.query, record.number) == ("user_id=mira", len(lines))


def add_questions_and_extraction(account: Account, user_id: str) -> None:
    """Add a judged and a compared question of a person, and messages that wait for extraction."""
    [entry] = makers.write(account, "The shop opens at nine.")
    ranking = makers.learned_ranking(entry)
    viewer, now = Viewer(user_id=user_id), entry.created_at
    judged = NewJudgement(
        question="Is it open on Sunday?", entry_id=entry.pk, label="relevant", viewer=viewer
    )
    with acting(account):
        store_judgements(account.pk, SYSTEM, [judged], Judgement.Source.PERSON)
        RankingComparison.objects.create(
            account=account,
            ranking=ranking,
            origin=RankingComparison.Origin.SHADOW,
            question="Is it open at night?",
            user_id=user_id,
            created_at=now,
        )
        Extraction.objects.create(
            account=account,
            kind=Extraction.Kind.CONVERSATION,
            actor=str(SYSTEM),
            user_id=user_id,
            said={"messages": [{"role": "user", "content": "I come on Monday."}]},
            observed_at=now,
            created_at=now,
        )


@pytest.mark.usefixtures("mira")
def test_what_is_exported_is_what_an_erasure_erases(admin: Client, acme: Account) -> None:
    add_questions_and_extraction(acme, "mira")
    text = b"".join(export_person(acme.pk, "mira")).decode()
    contents = ("on Sunday?", "at night?", "on Monday.", "When do you open?", "Prefers e-mail")
    assert makers.missing(text, *contents) == []
    with acting(acme):
        counts = count_rows(acme.pk, "mira", with_parts=True)
    assert sum(counts.values()) == len(text.splitlines())
    address = f"{reverse('memory:erase')}?user_id=mira"
    form = dict(re.findall(r'name="(ticket|count)" value="([^"]*)"', page(admin.get(address))))
    erased = admin.post(address, {**form, "typed": f"erase {form['count']}"})
    assert erased.status_code == 302
    with acting(acme):
        assert set(count_rows(acme.pk, "mira", with_parts=True).values()) == {0}


def test_every_table_with_the_id_of_a_person_is_exported() -> None:
    models = {
        model
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.attname == "user_id" and not field.is_relation
    }
    assert models <= {source.model for source in SOURCES}


def test_sessions_of_a_person_count_no_rows_of_others(acme: Account) -> None:
    makers.write(acme, "Mira's.", user_id="mira", run_id="r")
    makers.write(acme, "Jonas's.", "Also his.", user_id="jonas", run_id="r")
    with acting(acme):
        for user_id, number in (("mira", 1), ("jonas", 2)):
            [session] = list_sessions_of(acme.pk, user_id)
            assert (session.user_id, session.counts) == (user_id, {"memory": number})


def test_a_user_without_memories_is_erased(admin: Client, acme: Account) -> None:
    decided = select(acme, {"intent": "fetch"}, user_id="mira").decision
    address = f"{reverse('memory:erase')}?user_id=mira"
    assert f'href="{address}"' in page(admin.get(PAGE, {"user": "mira"}))
    text = page(admin.get(address))
    assert "Permanently erase everything about this user?" in text
    form = dict(re.findall(r'name="(ticket|count)" value="([^"]*)"', text))
    assert admin.post(address, {**form, "typed": "erase 0"}).status_code == 422
    assert admin.post(address, {**form, "typed": "erase 1"}).status_code == 302
    assert not makers.rows(RuleDecision, acme, pk=decided.pk)
    assert "Nothing stored" in page(admin.get(PAGE, {"user": "mira"}))
    assert admin.get(address).status_code == 404
