"""Pages of tool results and their retention."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries as MaxQueries

from context.actions.archives import store_archives
from context.models import ContextSettings, ToolResultArchive
from context.models.archives import NewResult
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.search.models import Vector
from tests import makers
from tests.makers import missing
from tests.web.pages import html, read_confirmation

pytestmark = pytest.mark.usefixtures("tokenizer")

FORM = {"archive_threshold": "500", "retention_days": "30", "language": "zh", "version": "0"}


def saved(account: Account, *texts: str, **more: Any) -> list[ToolResultArchive]:
    more = {"tool_name": "look", "conversation_id": "c1", "tool_input": {"query": "kiln"}} | more
    with acting(account):
        settings = ContextSettings.objects.get_or_default(account.pk)
        return store_archives(settings, SYSTEM, [NewResult(text=text, **more) for text in texts])[0]


def test_list_is_filtered(admin: Client, acme: Account) -> None:
    assert "/v1/tool-results" in html(admin.get("/tool-results/"))
    saved(acme, "The kiln is hot.")
    saved(acme, "The gate is shut.", tool_name="ask", conversation_id="c2")
    for query, page, hidden in (
        ({}, "gate", "nothing"),
        ({"tool_name": "look"}, "kiln", "gate"),
        ({"conversation_id": "c2"}, "gate", "The kiln"),
    ):
        content = html(admin.get("/tool-results/", query))
        assert page in content
        assert hidden not in content
    assert "Nothing matches" in html(admin.get("/tool-results/", {"thread_id": "x"}))


def test_failed_embedding_is_displayed(admin: Client, acme: Account) -> None:
    [row] = saved(acme, "The kiln is hot.")
    for state, badge in (("PENDING", "Pending"), ("FAILED", "Failed")):
        makers.update(Vector, acme, {"object_id": row.pk}, state=state)
        content = html(admin.get(f"/tool-results/{row.pk}/"))
        after = content.partition("<dt>Embedding</dt>")[2]
        assert f"{badge}</span>" in after.partition("</dd>")[0], state


def test_result_is_shown_whole_and_by_passage_and_erased_after_confirmation(
    admin: Client, acme: Account
) -> None:
    [row] = saved(acme, "<b>The kiln</b> fires at 1280 degrees.\n" + "The gate is shut. " * 90)
    content = html(admin.get(f"/tool-results/{row.pk}/", {"about": "kiln degrees"}))
    assert "&lt;b&gt;The kiln&lt;/b&gt;" in content
    assert (
        missing(content, "characters 0 to", f"load_tool_history(uuid=&quot;{row.pk}&quot;)") == []
    )
    assert "No passage" in html(admin.get(f"/tool-results/{row.pk}/", {"about": "zebra"}))
    assert "Erase this tool result?" in html(admin.get(f"/tool-results/{row.pk}/erase/"))
    assert admin.post(f"/tool-results/{row.pk}/erase/", {"reason": "old"}).status_code == 302
    assert admin.get(f"/tool-results/{row.pk}/").status_code == 404


def test_retention_that_erases_needs_confirmation(admin: Client, acme: Account) -> None:
    [row] = saved(acme, "The kiln is hot.")
    with acting(acme):
        then = timezone.now() - timedelta(days=40)
        ToolResultArchive.objects.of(acme).update(created_at=then)
    assert "Next to be erased" in html(admin.get("/tool-results/keeping/"))
    text = html(admin.post("/tool-results/keeping/set/", FORM))
    assert "Save and erase 1 tool result" in text
    form = FORM | read_confirmation(text)
    shorter = form | {"retention_days": "20"}
    assert "Save and erase 1" in html(admin.post("/tool-results/keeping/set/", shorter))
    assert admin.post("/tool-results/keeping/set/", form).status_code == 302
    content = html(admin.get("/tool-results/keeping/"))
    assert "Next to be erased" not in content
    assert str(row.pk) in content
    assert "will be erased within the hour" in html(admin.get("/tool-results/"))


def test_thresholds_per_tool_are_saved(admin: Client, acme: Account) -> None:
    for field, value in (
        *(("archive_threshold", "-1"), ("retention_days", "0"), ("tool_thresholds", "look")),
        *(("tool_thresholds", "look 99999999999"), ("language", "fr")),
    ):
        answer = admin.post("/tool-results/keeping/set/", {**FORM, field: value})
        assert answer.status_code == 422, (field, value)
    form = {**FORM, "tool_thresholds": "look 900\n\nask me 20"}
    assert admin.post("/tool-results/keeping/set/", form).status_code == 302
    with acting(acme):
        settings = ContextSettings.objects.get_or_default(acme.pk)
        assert settings.tool_thresholds == {"look": 900, "ask me": 20}
    assert "look 900" in html(admin.get("/tool-results/keeping/"))
    assert admin.post("/tool-results/keeping/set/", form).status_code == 409


def test_query_count(admin: Client, acme: Account, max_queries: MaxQueries) -> None:
    saved(acme, *(f"Result {n}." for n in range(30)))
    for path in ("/tool-results/", "/tool-results/keeping/"):
        cache.clear()
        with max_queries(18):
            assert admin.get(path).status_code == 200, path
