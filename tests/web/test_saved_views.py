"""Saved views of the list of memories."""

import re
from typing import Any
from urllib.parse import urlencode

from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from memory.actions.record_export import record_export
from memory.models import MemoryExport, SavedView
from tests import makers
from tests.makers import missing
from tests.web.pages import html
from tests.web.test_entries import remember


def view_of(account: Account, owner: User, name: str, **more: Any) -> SavedView:
    with acting(account):
        return SavedView.objects.create(account=account, owner=owner, name=name, **more)


def test_view_is_saved_changed_and_deleted(reviewer: Client, acme: Account) -> None:
    remember(acme, "A fact.")
    text = {"name": " Facts ", "query": "kind=fact&page=9&colour=red", "shared": "yes"}
    saved = reviewer.post("/memory/views/", text)
    view = makers.get(SavedView, acme)
    assert (view.name, view.query, view.shared) == ("Facts", "kind=fact", True)
    assert saved.headers["Location"] == f"/memory/?kind=fact&view={view.pk}"
    opened = html(reviewer.get(saved.headers["Location"]))
    assert "Facts" in opened
    assert "Modified" not in opened
    assert "Modified" in html(reviewer.get(f"/memory/?kind=fact&status=active&view={view.pk}"))
    reviewer.post(f"/memory/views/{view.pk}/", {"query": "kind=fact&status=active"})
    with acting(acme):
        view.refresh_from_db()
    assert view.query == "status=active&kind=fact"
    reviewer.post("/memory/views/", {"name": "Facts", "query": "kind=event"})
    with acting(acme):
        assert [(v.query, v.shared) for v in SavedView.objects.all()] == [("kind=event", False)]
    delete = f"/memory/views/{view.pk}/delete/"
    assert f'href="{delete}"' in html(reviewer.get(f"/memory/?view={view.pk}"))
    question = html(reviewer.get(delete))
    cancel = f'href="/memory/?kind=event&amp;view={view.pk}"'
    assert missing(question, "Delete this view?", "Facts", cancel) == []
    assert "your colleagues" not in question
    assert makers.count(SavedView, acme) == 1
    reviewer.post(delete)
    assert not makers.rows(SavedView, acme)


def test_view_needs_a_name_and_names_ignored_parameters(
    reviewer: Client, acme: Account, alice: User
) -> None:
    for name in ("", " ", "\x00"):
        answer = reviewer.post("/memory/views/", {"name": name, "query": ""})
        assert answer.status_code == 400, name
    remember(acme, "A fact.")
    view = view_of(acme, alice, "Old", query="kind=fact&mood=good&column=gone")
    link = f"/memory/?{view.query}&view={view.pk}"
    assert link.replace("&", "&amp;") in html(reviewer.get("/memory/"))
    assert missing(html(reviewer.get(link)), "not recognized", "mood", "A fact.") == []


def test_view_that_is_too_long_is_refused_and_not_cut(reviewer: Client, acme: Account) -> None:
    for length, status in ((400, 302), (500, 400)):
        form = {
            "name": f"Tea {length}",
            "query": urlencode({"q": "茶" * length, "sort": "created_at"}),
        }
        assert reviewer.post("/memory/views/", form).status_code == status
    view = makers.get(SavedView, acme)
    assert (view.name, view.query.endswith("&sort=created_at")) == ("Tea 400", True)


def test_user_sees_own_and_shared_views(reviewer: Client, acme: Account, ada: User) -> None:
    own_view = view_of(acme, ada, "Adas secret")
    shared = view_of(acme, ada, "Adas gift", shared=True)
    text = html(reviewer.get("/memory/"))
    assert "Adas gift" in text
    assert "Adas secret" not in text
    assert reviewer.post(f"/memory/views/{own_view.pk}/delete/").status_code == 404
    for action in ("", "delete/"):
        assert reviewer.post(f"/memory/views/{shared.pk}/{action}").status_code == 403
    admin = Client()
    admin.force_login(makers.member(acme, "adam", role="admin"))
    assert "your colleagues lose it" in html(admin.get(f"/memory/views/{shared.pk}/delete/"))
    assert admin.post(f"/memory/views/{shared.pk}/delete/").status_code == 302


def test_erased_user_leaves_views_and_exports(acme: Account, alice: User, ada: User) -> None:
    remember(acme, "Ann likes tea.", user_id="ann")
    remember(acme, "Anna likes tea.", user_id="anna")
    saved = {"Everybody": "status=active", "Hers": "user_id=anna", "Annals": "q=tea"}
    removed = {"By id": "user_id=ann", "Seen with ann": "q=tea", "Asked": "q=what+does+ann+like%3F"}
    removed |= {"ann的记忆": "q=tea", "In Chinese": urlencode({"q": "ann喜欢什么"})}
    for name, query in {**saved, **removed}.items():
        view_of(acme, alice, name, query=query, shared=True)
    with acting(acme):
        for query in ("user_id=ann", "user_id=anna"):
            record_export(acme.pk, SYSTEM, form=MemoryExport.Form.CSV, query=query, number=1)
    admin = Client()
    admin.force_login(ada)
    counted = html(admin.get("/memory/erase/?user_id=ann"))
    [ticket] = re.findall(r'name="ticket" value="([^"]+)"', counted)
    text = {"ticket": ticket, "count": "1", "typed": "erase 1"}
    done = admin.post("/memory/erase/?user_id=ann", text)
    assert done.status_code == 302, html(done)
    with acting(acme):
        assert {view.name for view in SavedView.objects.all()} == set(saved)
        assert [row.query for row in MemoryExport.objects.all()] == ["user_id=anna"]
    makers.check_ledger()
