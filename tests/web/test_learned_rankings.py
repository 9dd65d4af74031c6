"""Pages of learned rankings: judgements of people, evidence, promotion and rollback."""

import json
import re
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.models import Account
from memory.models import Judgement, MemoryEntry, MemoryExport, Ranking
from tests import makers
from tests.web.pages import HTMX, html, page

pytestmark = pytest.mark.usefixtures("tokenizer")
QUESTION = "When does the tea room open?"


@pytest.fixture
def entry(acme: Account) -> MemoryEntry:
    return makers.write(acme, "The tea room opens at nine.", user_id="mira")[0]


PRESSED_BUTTON = 'value="withdrawn" aria-pressed="true"'


def judgement(memory: MemoryEntry, **values: Any) -> dict[str, Any]:
    fields = {"question": QUESTION, "user_id": "mira", "entry": memory.pk, "label": "relevant"}
    return fields | values


def send_move(client: Client, ranking: Ranking, status: str, **values: str) -> Any:
    path = reverse("memory:ranking_move", args=[ranking.pk])
    return client.post(path, {"status": status, **values})


def status_of(acme: Account, ranking: Ranking) -> str:
    return str(makers.get(Ranking, acme, pk=ranking.pk).status)


def shadow_ranking(acme: Account, entry: MemoryEntry, low: float) -> Ranking:
    recall = {"before": 0.5, "after": 0.7, "difference": 0.2, "low": low, "high": 0.4}
    measures = dict.fromkeys(("R@10", "hit@10", "MRR"), recall)
    evaluation = {"outcome": "better", "questions": 24, "held_out": 12, "measures": measures}
    return makers.learned_ranking(entry, evaluation=evaluation)


def test_person_judges_a_result_of_the_lab(
    reviewer: Client, acme: Account, entry: MemoryEntry
) -> None:
    query = {"query": QUESTION, "user_id": "mira"}
    before = page(reviewer.get(reverse("memory:lab"), query))
    assert PRESSED_BUTTON not in before
    answer = reviewer.post(reverse("memory:judge"), judgement(entry), headers=HTMX)
    assert PRESSED_BUTTON in html(answer)
    stored = makers.get(Judgement, acme)
    assert (stored.question, stored.user_id, stored.entry_id) == (QUESTION, "mira", entry.pk)
    assert (stored.label, stored.source) == ("relevant", "person")
    assert PRESSED_BUTTON in page(reviewer.get(reverse("memory:lab"), query))
    # A judgement applies to its viewer only: for another viewer, it is another question.
    other = page(reviewer.get(reverse("memory:lab"), query | {"agent_id": "a"}))
    assert PRESSED_BUTTON not in other


def test_person_judges_a_memory_in_a_call(
    agent: Client, reviewer: Client, acme: Account, entry: MemoryEntry
) -> None:
    message = {"role": "user", "content": QUESTION}
    body = {"messages": [message], "user_id": "mira", "conversation_id": "c1"}
    answer = agent.post("/v1/context/assemble", body, content_type="application/json")
    report = answer.json()["report_id"]
    path = reverse("context:call", args=[report])
    fields = dict(
        re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page(reviewer.get(path)))
    )
    assert fields["entry"] == str(entry.pk)
    sent = {name: fields[name] for name in ("question", "entry", "user_id", "run_id", "next")}
    answer = reviewer.post(reverse("memory:judge"), {**sent, "label": "not_relevant"})
    assert answer["Location"] == path
    stored = makers.get(Judgement, acme)
    assert (stored.question, stored.run_id, stored.label) == (QUESTION, "c1", "not_relevant")
    assert PRESSED_BUTTON in page(reviewer.get(path))


def test_invalid_judgements_and_files_are_refused(
    reviewer: Client, acme: Account, entry: MemoryEntry
) -> None:
    text = page(reviewer.get(reverse("memory:ranking")))
    assert "20 more questions are needed" in text
    assert "Learn a ranking" not in text
    assert reviewer.post(reverse("memory:ranking_learn")).status_code == 409
    invalid: tuple[tuple[dict[str, Any], int], ...] = (
        *(({"question": " \x00 "}, 400), ({"label": "good"}, 400)),
        ({"entry": uuid4()}, 404),
    )
    for values, status in invalid:
        answer = reviewer.post(reverse("memory:judge"), judgement(entry, **values))
        assert (answer.status_code, makers.count(Judgement, acme)) == (status, 0), values
    good = {"question": QUESTION, "memory_id": str(entry.pk), "relevant": True}
    nul = b'{"question": "\\u0000", "memory_id": "x", "relevant": true}'
    unknown = json.dumps({**good, "memory_id": str(uuid4())}).encode()
    for line in (b"no", b"[]", nul, b"\xff", unknown):
        file = SimpleUploadedFile("judgements.jsonl", json.dumps(good).encode() + b"\n" + line)
        answer = reviewer.post(reverse("memory:judgements_import"), {"file": file})
        assert answer.status_code == 400, line
        assert "Line 2" in html(answer), line
        assert makers.count(Judgement, acme) == 0, line


def test_judgements_are_exported_and_imported(
    reviewer: Client, acme: Account, entry: MemoryEntry
) -> None:
    reviewer.post(reverse("memory:judge"), judgement(entry))
    content = reviewer.post(reverse("memory:judgements_export")).content
    line = json.loads(content)
    assert line["memory_id"] == str(entry.pk)
    assert makers.count(MemoryExport, acme, query="judgements", number=1) == 1
    line["relevant"] = False
    file = SimpleUploadedFile("judgements.jsonl", json.dumps(line).encode() + b"\n\n")
    reviewer.post(reverse("memory:judgements_import"), {"file": file})
    assert makers.get(Judgement, acme, source="import").label == "not_relevant"


def test_judgements_of_a_file_are_stored_together(
    reviewer: Client, acme: Account, entry: MemoryEntry, max_queries: MaxQueries
) -> None:
    for relevant in (True, False):
        lines = [
            {"question": f"{QUESTION} {n}", "memory_id": str(entry.pk), "relevant": relevant}
            for n in range(100)
        ]
        content = "\n".join(map(json.dumps, lines)).encode()
        file = SimpleUploadedFile("judgements.jsonl", content)
        with max_queries(40):
            reviewer.post(reverse("memory:judgements_import"), {"file": file})
        label = "relevant" if relevant else "not_relevant"
        assert makers.count(Judgement, acme, label=label) == 100


def test_admin_promotes_on_evidence_and_rolls_back(
    admin: Client, acme: Account, entry: MemoryEntry
) -> None:
    ranking = shadow_ranking(acme, entry, low=0.1)
    text = page(admin.get(reverse("memory:ranking_detail", args=[ranking.pk])))
    assert "0.700" in text
    assert "Promote although" not in text
    send_move(admin, ranking, "active", reason="Better.")
    assert status_of(acme, ranking) == "active"
    detail = reverse("memory:ranking_detail", args=[ranking.pk])
    [undo] = re.findall(r'hx-post="([^"]+move/[^"]+)"', page(admin.get(detail)))
    undone = admin.post(undo, headers=HTMX)
    assert undone.headers["HX-Redirect"] == detail, "the page shows the status"
    assert status_of(acme, ranking) == "retired"


@pytest.mark.parametrize(
    ("replaces", "text"),
    [(True, "ranking r2 becomes active again"), (False, "searches use the shipped weights again")],
)
def test_rollback_says_what_it_changes_and_asks(
    admin: Client, acme: Account, entry: MemoryEntry, text: str, *, replaces: bool
) -> None:
    [other] = makers.write(acme, "The mill is by the pond.")
    former = makers.learned_ranking(other, number=2, status="retired")
    ranking = makers.learned_ranking(
        entry, status="active", replaced=former.pk if replaces else None
    )
    link = f"{reverse('memory:ranking_move', args=[ranking.pk])}?status=retired"
    detail = page(admin.get(reverse("memory:ranking_detail", args=[ranking.pk])))
    assert link in detail
    assert 'value="retired"' not in detail
    question = page(admin.get(link))
    assert makers.missing(question, "Roll back this ranking?", text) == []
    assert status_of(acme, ranking) == "active"
    send_move(admin, ranking, "retired")
    assert status_of(acme, former) == ("active" if replaces else "retired")
    assert admin.get(link).status_code == 409


def test_promotion_without_evidence_needs_a_confirmation(
    admin: Client, acme: Account, entry: MemoryEntry
) -> None:
    ranking = shadow_ranking(acme, entry, low=-0.1)
    assert "Promote although" in page(
        admin.get(reverse("memory:ranking_detail", args=[ranking.pk]))
    )
    assert send_move(admin, ranking, "active").status_code == 400
    assert status_of(acme, ranking) == "shadow"
    send_move(admin, ranking, "active", override="yes")
    assert status_of(acme, ranking) == "active"


def test_editors_see_changes_by_question_and_do_not_promote(
    reviewer: Client, acme: Account, entry: MemoryEntry
) -> None:
    ranking = shadow_ranking(acme, entry, low=0.1)
    path = reverse("memory:ranking_detail", args=[ranking.pk])
    text = page(reviewer.get(path, {"origin": "held_out"}, headers=HTMX))
    assert entry.content in text
    assert send_move(reviewer, ranking, "active").status_code == 403
    assert status_of(acme, ranking) == "shadow"
    send_move(reviewer, ranking, "draft")
    assert status_of(acme, ranking) == "draft"
