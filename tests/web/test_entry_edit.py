"""Editing a memory, conflicts and undo."""

from typing import Any

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.models import Commit
from memory.models import MemoryEntry, MemoryVersion
from memory.models.entry_input import MAX_TAGS
from tests import makers
from tests.makers import missing
from tests.web.pages import HTMX, html
from tests.web.proposals import entry_url, propose
from tests.web.test_entries import remember


@pytest.fixture
def entry(acme: Account) -> MemoryEntry:
    [row] = remember(acme, "The gate opens at nine.", title="Gate", tags=["gate"])
    return row


def form(content: str = "The gate opens at nine.", version: int = 1, **more: Any) -> dict[str, Any]:
    text = {"version": version, "content": content, "title": "Gate", "kind": "fact", "tags": "gate"}
    return text | more


def now(account: Account, entry: MemoryEntry) -> MemoryEntry:
    return makers.get(MemoryEntry, account, pk=entry.pk)


def test_edit_changes_only_its_fields(reviewer: Client, acme: Account, entry: MemoryEntry) -> None:
    address = f"/memory/{entry.pk}/edit/"
    assert 'name="version" value="1"' in html(reviewer.get(address))
    assert reviewer.post(address, form(tags="gate, hours")).status_code == 302
    after = now(acme, entry)
    assert (after.tags, after.content, after.version) == (["gate", "hours"], entry.content, 2)
    assert reviewer.post(address, form(tags="gate, hours", version=2)).status_code == 302
    assert now(acme, entry).version == 2  # the same input again is no change


def test_stale_edit_shows_a_diff(reviewer: Client, acme: Account, entry: MemoryEntry) -> None:
    address = f"/memory/{entry.pk}/edit/"
    assert (
        reviewer.post(address, form("The gate opens at ten.", tags="gate, new")).status_code == 302
    )
    answer = reviewer.post(
        address, form("The gate opens at eleven.", title="Main gate", reason="heard")
    )
    text = html(answer)
    assert answer.status_code == 409
    assert "Nothing was saved, and your input is still here." in text
    for page in ("<ins>ten</ins>", "<ins>eleven</ins>", "both of you changed it", "<bdi>Alice"):
        assert page in text
    # The form offers my text and title, their tags, my reason and the current version.
    for saved in (
        "The gate opens at eleven.</textarea>",
        'value="Main gate"',
        'value="gate, new"',
        'value="heard"',
        'name="version" value="2"',
    ):
        assert saved in text
    assert now(acme, entry).version == 2
    merged = form("The gate opens at eleven.", 2, title="Main gate", tags="gate, new")
    assert reviewer.post(address, merged).status_code == 302
    after = now(acme, entry)
    assert (after.title, after.tags, after.version) == ("Main gate", ["gate", "new"], 3)


def test_unchanged_tags_and_line_breaks_stay_as_they_are(reviewer: Client, acme: Account) -> None:
    stored = {"title": "Gate", "tags": ["Paris, France", "a，b"]}
    as_shown: dict[str, Any] = {"tags": "Paris, France, a，b"}
    text = "It opens at nine.\r\nIt shuts at six."
    [known] = remember(acme, text, **stored)
    [proposal] = propose(acme, f"Ring twice. {text}", **stored)
    for entry, path in (
        (known, f"/memory/{known.pk}/edit/"),
        (proposal, entry_url("review_edit", proposal)),
    ):
        edited = form(entry.content, title="Door", **as_shown)
        assert reviewer.post(path, edited).status_code == 302
        after = now(acme, entry)
        assert (after.title, after.version, after.content) == ("Door", 2, entry.content)
        assert after.tags == stored["tags"]
    stale = form(text, title="Gate", **as_shown, reason="heard")
    answer = html(reviewer.post(f"/memory/{known.pk}/edit/", stale | {"content": "It is shut."}))
    assert missing(answer, 'value="Paris, France, a，b"', 'value="Door"', "It is shut.") == []
    form_now = form("It is shut.", 2, title="Door", tags="Paris, Lyon")
    assert reviewer.post(f"/memory/{known.pk}/edit/", form_now).status_code == 302
    assert now(acme, known).tags == ["Paris", "Lyon"]


def test_tags_are_limited_as_at_the_api(reviewer: Client, acme: Account) -> None:
    tags = [f"tag {number}" for number in range(MAX_TAGS + 1)]
    [known] = remember(acme, "The gate opens at nine.", title="Gate", tags=tags)
    [proposal] = propose(acme, "Ring twice at the gate.", title="Gate", tags=tags)
    for entry, path in (
        (known, f"/memory/{known.pk}/edit/"),
        (proposal, entry_url("review_edit", proposal)),
    ):
        shown = ", ".join(tags)
        unchanged = form(entry.content, title="Door", tags=shown)
        assert reviewer.post(path, unchanged).status_code == 302
        more = reviewer.post(path, form(entry.content, 2, title="Door", tags=f"{shown}, new"))
        assert more.status_code == 422
        assert "at most 50 tags" in html(more)
        assert now(acme, entry).tags == tags


def test_refused_edit_keeps_the_input(reviewer: Client, entry: MemoryEntry) -> None:
    reviewer.post(f"/memory/{entry.pk}/forget/", {"version": 1})
    answer = reviewer.post(f"/memory/{entry.pk}/edit/", form("The gate is shut.", 2))
    assert answer.status_code == 409
    assert "The gate is shut.</textarea>" in html(answer)


def test_rejects_invalid_forms(reviewer: Client, acme: Account, entry: MemoryEntry) -> None:
    address = f"/memory/{entry.pk}/edit/"
    invalid: tuple[dict[str, Any], ...] = (
        *({"content": " "}, {"version": "x"}, {"version": 0}, {"kind": "odd"}),
        {"title": "x" * 501},
    )
    for errors in invalid:
        assert reviewer.post(address, form() | errors).status_code == 422, errors
    assert reviewer.post(address, form("Else.", 7)).status_code == 400, "an unknown version"
    assert now(acme, entry).version == 1


def test_edit_returns_the_row_or_leads_to_the_page(reviewer: Client, entry: MemoryEntry) -> None:
    here = {**HTMX, "HX-Current-URL": "http://testserver/memory/?column=importance"}
    address = f"/memory/{entry.pk}/edit/?row"
    query = html(reviewer.get(address, headers=here))
    assert "<html" not in query
    assert f'hx-post="{address}"' in query
    answer = reviewer.post(address, form("The gate opens at ten."), headers=here)
    text = html(answer)
    assert answer.headers["HX-Retarget"] == f"#entry-{entry.pk}"
    assert 'data-label="Importance"' in text
    assert 'data-label="Status"' not in text
    assert missing(text, "at ten.", "Undo") == []
    answer = reviewer.post(f"/memory/{entry.pk}/edit/", form("Else.", 2), headers=HTMX)
    assert answer.headers["HX-Redirect"] == f"/memory/{entry.pk}/"


def test_undo_restores_every_byte(reviewer: Client, acme: Account, alice: User) -> None:
    odd = "Tab\there, 茶, e\u0301, \u200b, two  spaces \n"
    [entry] = remember(acme, odd, title="T", metadata={"n": 1.5, "deep": {"a": [1, None]}})
    with acting(acme):
        before = MemoryVersion.objects.get(entry_id=entry.pk, version=1)
        was = encode_canonical(
            {**MemoryEntry.objects.get(pk=entry.pk).body(), "version": 0, "updated_at": 0}
        )
    reviewer.post(f"/memory/{entry.pk}/edit/", form("Another text.", title="U", tags="x, y"))
    assert reviewer.post(f"/memory/{entry.pk}/undo/?version=2").status_code in (200, 302)
    with acting(acme):
        row = MemoryEntry.objects.get(pk=entry.pk)
        assert row.content.encode() == before.state["content"].encode()
        assert encode_canonical({**row.body(), "version": 0, "updated_at": 0}) == was
        acts = MemoryVersion.objects.filter(entry_id=entry.pk).order_by("version")
        assert [(act.event, act.actor) for act in acts[1:]] == [
            ("UPDATE", f"user:{alice.pk}"),
            ("UNDO", f"user:{alice.pk}"),
        ]
        ops = [
            change["op"]
            for commit in Commit.objects.of(acme).order_by("seq")
            for change in commit.diff
            if change["object"].endswith(str(entry.pk))
        ]
    assert ops == ["ADD", "UPDATE", "UNDO"]
