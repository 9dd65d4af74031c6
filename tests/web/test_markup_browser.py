"""Texts of people and agents are never interpreted as markup (ASVS 1.2.1, 3.2.2).

Sixty payloads are stored in every text column of an account, and every page is opened.
"""

from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import quote

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Route

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.api.errors import is_api
from memory.models import MemoryEntry
from memory.models.entry_input import NewEntry
from tests import makers
from tests.context.builders import call, talk, tool
from tests.fake_provider import FakeProvider
from tests.full_account import create_full_account
from tests.kernel.fsck.tampering import Intruder
from tests.kernel.names import collect_ids
from tests.kernel.probes import NOT_A_METHOD, PROBES, ROUTES
from tests.payloads import PAYLOADS
from tests.rules.builders import add_rule, select
from tests.web.browser import Visitor
from tests.web.crawler import NOT_PAGES, SiteData, Walk, Watch
from tests.web.proposals import propose
from tests.web.staff import MODELS, address
from tests.web.stored_payloads import TEXTS, WORD, Planter

pytestmark = [pytest.mark.browser, pytest.mark.promise(34)]
SCRIPTS = ("vendor/htmx/htmx.min.js", "js/poll.js")
SAME_AUDIENCE = """
UPDATE memory_memoryentry AS one
SET (scope, user_id, agent_id, app_id, run_id, visibility)
  = (other.scope, other.user_id, other.agent_id, other.app_id, other.run_id, other.visibility)
FROM memory_memoryentry AS other WHERE one.id = %s AND other.id = %s
"""
EDITABLE = """
UPDATE knowledge_knowledgedocument SET mime = 'text/markdown', removed_at = NULL WHERE id = %s
"""
ACTIVE_RANKING = "UPDATE memory_ranking SET status = 'active' WHERE id = %s"
QUERIES = {
    "memory:ranking_move": "?status=retired",
    "memory:review_merge": "?with={}",
    "memory:forget_these": "?kind=fact",
    "rules:move": "?to=shadow",
}
# Short columns that do not hold all payloads, because their tables have few rows, which the
# planter cannot copy.
PARTLY_FILLED_COLUMNS = {
    *("accounts_account.name", "rules_rulefeedback.run_id", "knowledge_knowledgetext.revision"),
    *(f"context_contextsummary.{name}" for name in ("conversation_id", "thread_id", "user_id")),
    *(f"providers_embeddingmodel.{each}_prefix" for each in ("query", "passage")),
    *("providers_embeddingmodel.name", "providers_embeddingmodel.passage_template"),
    "search_vector.error",
    *(f"knowledge_knowledgedraft.{name}" for name in ("title", "folder", "source_name")),
    "knowledge_knowledgedocument.tags",
    "context_contextsettings.remote_url",
    *(f"company_companysignin.{name}" for name in ("name", "client_id", "groups_claim")),
    *(f"company_companysignin.{name}" for name in ("sign_in_url", "certificate")),
    *("company_companysignin.client_secret", "company_companyidentity.subject"),
}


@pytest.fixture
def watch(visitor: Visitor) -> Watch:
    watch = Watch(visitor.base)
    watch.over(visitor.page)
    return watch


def test_every_payload_works_on_a_vulnerable_page(visitor: Visitor, watch: Watch) -> None:
    policy = visitor.page.request.get(f"{visitor.base}/sign-in/").headers["content-security-policy"]
    scripts = "".join(f'<script defer src="/static/{path}"></script>' for path in SCRIPTS)
    quiet, page = [], [""]

    def answer(route: Route) -> None:
        headers = {"Content-Security-Policy": policy, "Content-Type": "text/html"}
        body = f"<!doctype html><head>{scripts}</head><body>{page[-1]}</body>"
        route.fulfill(body=body, headers=headers)

    visitor.page.route("**/careless/", answer)
    # The request itself is recorded. The status 204 keeps the browser on the page.
    visitor.page.route("**/canary", lambda route: route.fulfill(status=204))
    for payload in PAYLOADS:
        page.append(payload.careless())
        visitor.go("/careless/")
        if payload.where == "link":
            visitor.page.locator("#go").click()
        if not wait_for_harm(visitor, watch):
            quiet.append(payload)
    assert quiet == []
    assert len(PAYLOADS) == 60


def wait_for_harm(visitor: Visitor, watch: Watch) -> list[str]:
    for _each in range(100):
        if result := watch.noticed(visitor):
            return result
        visitor.page.wait_for_timeout(20)
    return []


@pytest.fixture
def site_data(committed: str, provider: FakeProvider) -> Iterator[SiteData]:
    new = create_full_account("Acme")
    account, boss, word = new.account, new.admin, new.word
    User.objects.filter(pk=boss.pk).update(is_staff=True, is_superuser=True)
    proposal = propose(account, f"The {word} opens at ten.")[0]
    create_uncopyable_rows(account, word)
    makers.settle()
    with acting(account):
        entry = MemoryEntry.objects.of(account).get(client_id=f"{word}-1")
        topic = MemoryEntry.objects.of(account).get(kind="topic")
    names = collect_ids(account, entry=entry, proposal=proposal, member=boss)
    intruder = Intruder(committed)
    planter = Planter(intruder, [WORD, word, "curl"])
    planter.plant()
    intruder.run(SAME_AUDIENCE, proposal.pk, entry.pk)
    intruder.run(EDITABLE, names.document)
    intruder.run(ACTIVE_RANKING, names.ranking)
    yield SiteData(account, boss, names, topic.pk, planter)
    intruder.connection.close()


def create_uncopyable_rows(account: Account, word: str) -> None:
    """Create rows of tables whose rows the planter cannot copy."""
    for number in range(40):
        makers.member(account, f"m{number}", role="editor")
        add_rule(account, f"Draft {number} {word}")
    for _each in TEXTS:
        makers.key(account)
    add_rule(account, f"One {word}", "active", when={})
    add_rule(account, f"Other {word}", "active", when={}, then={"tool": {"prefer": ["curl"]}})
    topic = NewEntry(text=f"What {word} is.", kind="topic", title=word, client_id="topic")
    makers.write(account, topic, edges=[makers.edge("part_of", f"{word}-1", "topic")])
    select(account, {"n": 0, "word": word})
    call(account, talk(1, word=word), sources=("memory",), tools=[tool(word)], model=word)


def pages(site_data: SiteData) -> Iterator[tuple[str, str]]:
    """Yield the name and URL of every page."""
    names = site_data.names
    of_topics = replace(names, entry=site_data.topic)
    for name, path in ROUTES.items():
        probe = PROBES.get(name)
        page = of_topics if name.startswith("memory:topic") else names
        pk = [getattr(page, probe.pk)] if probe and probe.pk else []
        address = reverse(name, args=pk)
        is_page = not is_api(f"/{path}") and not address.startswith(NOT_PAGES)
        if is_page and Client().get(address).status_code != NOT_A_METHOD:
            yield name, address + QUERIES.get(name, "").format(names.entry)


def tables(account: Account) -> Iterator[str]:
    """Yield the URLs of every list of the Django admin, and of one row of each."""
    for model in MODELS:
        yield address(model)
        with acting(account):
            row = model.objects.order_by("pk").first()  # type: ignore[attr-defined]
        yield address(model, f"{quote(str(row.pk))}/change/") if row else address(model)


def test_no_payload_becomes_markup(
    visitor: Visitor, watch: Watch, site_data: SiteData, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = site_data.planter.planted
    assert {
        name for name, texts in planted.items() if len(texts) < len(TEXTS)
    } <= PARTLY_FILLED_COLUMNS
    assert all(planted.values())
    visitor.sign_in(site_data.boss)
    walk = Walk(visitor, watch, site_data)
    all_pages = dict(pages(site_data))
    # These pages open only with a signed link from an e-mail.
    in_emails = {"web:invitation", "web:unsubscribe"}
    assert set(all_pages) - walk.go_everywhere(all_pages) == in_emails
    first, *others = tables(site_data.account)
    walk.open(first)
    # The list of all tables, which takes long, is the same on the other pages.
    monkeypatch.setattr(admin.site, "get_app_list", lambda _request, app_label=None: [])
    for path in others:
        walk.open(path)
    walk.approve(site_data.names.proposal)
    assert walk.harm == []


@pytest.mark.long
def test_no_markup_in_chinese(visitor: Visitor, watch: Watch, site_data: SiteData) -> None:
    visitor.sign_in(site_data.boss)
    visitor.prefers(theme="dark", language="zh-hans")
    walk = Walk(visitor, watch, site_data)
    for _name, path in pages(site_data):
        walk.open(path)
    assert walk.harm == []


@pytest.mark.parametrize("form", ["csv", "ndjson"])
def test_export_is_an_attachment(client: Client, alice: User, form: str) -> None:
    client.force_login(alice)
    answer = client.post("/memory/export/", {"form": form})
    assert answer.headers["Content-Disposition"].startswith("attachment;")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert not answer.headers["Content-Type"].startswith("text/html")
