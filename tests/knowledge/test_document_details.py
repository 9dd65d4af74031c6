"""Details of documents: tags, owner, stale dates, requested reviews, and the filters by them."""

from datetime import timedelta

from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import remove_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, Membership, User
from kmapp.ledger.models import Seal
from knowledge.models import KnowledgeDocument
from tests import makers
from tests.knowledge.builders import deliver
from tests.makers import missing, settle
from tests.web.pages import HTMX, page


def change(client: Client, document: KnowledgeDocument, **values: str) -> int:
    return int(client.post(f"/knowledge/documents/{document.pk}/details/", values).status_code)


def test_a_requested_review_appears_on_the_home_page_until_it_is_done(
    reviewer: Client, admin: Client, alice: User, ada: User, acme: Account, rival: Account
) -> None:
    first, second = deliver(acme, {"tea.md": "# Tea", "cups.md": "# Cups"}).documents
    ask = {"owner": f"user:{ada.pk}", "reviewer": f"user:{alice.pk}", "tags": "Tea， guide,tea"}
    assert change(admin, first, **ask, review_after="2026-01-02") == 302
    stored = makers.get(KnowledgeDocument, acme, pk=first.pk)
    assert (stored.tags, stored.is_stale) == (["tea", "guide"], True)
    assert makers.rows(Seal, acme, object_id=first.pk, commit_id=stored.commit_id)
    here = f"/knowledge/documents/{first.pk}/"
    assert here in page(reviewer.get("/knowledge/summary/", headers=HTMX))
    assert "requested from you" not in page(admin.get("/knowledge/summary/", headers=HTMX))
    displayed = page(reviewer.get(here))
    assert ("Review requested from Alice" in displayed, "Stale" in displayed) == (True, True)
    deliver(acme, {"tea.md": "# Tea\n\nNew."})  # a new version leaves the details unchanged
    assert makers.get(KnowledgeDocument, acme, pk=first.pk).tags == ["tea", "guide"]
    assert reviewer.post(f"{here}reviewed/", {"days": "90"}).status_code == 302
    done = makers.get(KnowledgeDocument, acme, pk=first.pk)
    assert (done.reviewer, done.is_stale, done.reviewed_at is None) == ("", False, False)
    assert done.review_after
    assert done.review_after - timezone.now() > timedelta(days=89)
    assert "No documents need your attention" in page(reviewer.get("/knowledge/summary/"))
    outsider = makers.member(rival, "rin", role="admin")
    for wrong in ({"owner": f"user:{outsider.pk}"}, {"tags": "x" * 51}, {"review_after": "soon"}):
        assert change(reviewer, second, **wrong) == 422, wrong
    assert makers.get(KnowledgeDocument, acme, pk=second.pk).owner == ""


def test_details_save_only_what_the_person_changes(
    reviewer: Client, admin: Client, alice: User, acme: Account
) -> None:
    [tea] = deliver(acme, {"tea.md": "# Tea"}).documents
    bo = makers.member(acme, "bo", role="editor")
    path, owner = f"/knowledge/documents/{tea.pk}/details/", f"user:{bo.pk}"
    assert change(admin, tea, tags="guide", owner=owner, review_after="2026-01-02") == 302
    shown = page(reviewer.get(path))
    assert missing(shown, 'name="initial-tags" value="guide"', 'value="2026-01-02"') == []
    # This form was opened before the change, so it contains none of these values.
    assert change(reviewer, tea, reviewer=f"user:{alice.pk}") == 302
    with acting(acme):
        remove_member(Membership.objects.get(user=bo), actor=SYSTEM)
    shown = page(reviewer.get(path))
    assert f'<option value="{owner}" selected>' in shown
    opened = {"initial-tags": "guide", "initial-owner": owner, "initial-review_after": "2026-01-02"}
    form = opened | {"tags": "guide, hill", "owner": owner, "review_after": "2026-01-02"}
    before = makers.get(KnowledgeDocument, acme, pk=tea.pk)
    assert change(reviewer, tea, **form, **{"initial-reviewer": f"user:{alice.pk}"}) == 302
    after = makers.get(KnowledgeDocument, acme, pk=tea.pk)
    assert (after.tags, after.owner, after.reviewer) == (["guide", "hill"], owner, "")
    assert after.review_after == before.review_after
    for day in ("0001-01-01", "9999-12-31"):
        assert change(reviewer, tea, review_after=day) == 422


def test_documents_are_filtered_by_their_details(
    reviewer: Client, alice: User, acme: Account, max_queries: MaxQueries
) -> None:
    tea, cups = deliver(acme, {"tea.md": "# Tea hill", "cups.md": "# Tea cups"}).documents
    settle()
    me = f"user:{alice.pk}"
    assert change(reviewer, tea, tags="guide", review_after="2026-01-02", owner=me) == 302
    assert change(reviewer, cups, reviewer=me) == 302
    for query, expected in (
        ({}, {"tea.md", "cups.md"}),
        ({"tag": "Guide"}, {"tea.md"}),
        ({"review": "stale"}, {"tea.md"}),
        ({"review": "mine"}, {"cups.md"}),
        ({"owner": "me"}, {"tea.md"}),
        ({"q": "CUPS"}, {"cups.md"}),
    ):
        with max_queries(16):
            list_page = page(reviewer.get("/knowledge/documents/", query))
        assert {name for name in ("tea.md", "cups.md") if name in list_page} == expected, query
    assert "Remove a filter" in page(reviewer.get("/knowledge/documents/", {"tag": "none"}))
    results = page(reviewer.get("/knowledge/", {"q": "tea", "tag": "guide"}))
    assert ("tea.md" in results, "cups.md" in results) == (True, False)
