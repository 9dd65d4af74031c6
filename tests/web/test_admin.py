"""The Django admin: lists, rows and users of one account at a time."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.test.utils import CaptureQueriesContext

from context.models import ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.actions import add_member
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.company_sign_in.models import CompanySignIn
from kmapp.accounts.models import Account, AccountOwned, Membership, User
from kmapp.ledger.checkpoints import sign_all_heads
from kmapp.ledger.models import Commit
from kmapp.providers.models import EmbeddingModel
from kmapp.web.admin.accounts import UserAdmin
from memory.models import MemoryEntry, MemorySettings
from rules.models import RuleBook
from tests import makers
from tests.race import run_on_own_connection
from tests.web.pages import html, page
from tests.web.staff import MODELS, address, fill, staff

# Tables that have one row, or the same rows for every account.
ONE_ROW = (Account, EmbeddingModel, MemorySettings, RuleBook, ContextSettings, CompanySignIn)
NEW_USER = {
    "username": "nia",
    "email": "nia@example.test",
    "usable_password": "true",
    "password1": "a long good password",
    "password2": "a long good password",
}


def test_every_model_has_a_list_with_search_and_filters() -> None:
    assert [model._meta.label for model in MODELS if not admin.site.is_registered(model)] == []
    assert len(MODELS) > 15
    for model in MODELS:
        page = admin.site.get_model_admin(model)
        if model not in (MemorySettings, ContextSettings):  # one row
            assert page.search_fields, model
            assert page.date_hierarchy, model
        assert len(page.list_display) > 2, model


@pytest.fixture
def without_sidebar(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the sidebar with the list of all tables, which slows down every page."""
    monkeypatch.setattr(admin.site, "get_app_list", lambda _request, app_label=None: [])


@pytest.mark.usefixtures("without_sidebar")
def test_lists_show_only_rows_of_the_account_which_are_read_only(
    superuser: Client, acme: Account, rival: Account, subtests: pytest.Subtests
) -> None:
    makers.member(rival, "rita", role="admin")
    fill(acme)
    fill(rival)
    sign_all_heads()
    for model in MODELS:
        with subtests.test(model=model._meta.label):
            answer = superuser.get(address(model))
            page = [row.pk for row in answer.context["cl"].result_list]
            assert superuser.get(address(model, f"{page[0]}/change/")).status_code == 200
            assert superuser.get(address(model), {"q": "a"}).status_code == 200
            if issubclass(model, AccountOwned):
                own_keys, foreign_keys = keys(model, acme), keys(model, rival)
                assert set(page) == own_keys
                stranger = superuser.get(address(model, f"{foreign_keys.pop()}/change/"))
                assert (stranger.status_code, stranger.headers["Location"]) == (302, "/admin/")
            assert "delete_selected" not in html(answer)
            for tail in ("add/", f"{page[0]}/change/") if model is not User else ():
                assert superuser.post(address(model, tail), {}).status_code == 403
            deletion = superuser.post(address(model, f"{page[0]}/delete/"), {"post": "yes"})
            assert deletion.status_code == 403


def keys(model: type[Model], account: Account) -> set[Any]:
    with acting(account):
        return set(model.objects.values_list("pk", flat=True))  # type: ignore[attr-defined]


@pytest.mark.usefixtures("without_sidebar")
def test_hidden_columns_are_no_filters(superuser: Client, subtests: pytest.Subtests) -> None:
    """A filter such as text__startswith would reveal the draft of another person."""
    for model in MODELS:
        hidden = getattr(admin.site.get_model_admin(model), "hidden_fields", ())
        for name in set(hidden) - {"account"}:
            with subtests.test(model=model._meta.label, column=name):
                for lookup in (name, f"{name}__startswith"):
                    assert superuser.get(address(model), {lookup: "a"}).status_code == 400


def test_other_accounts_are_hidden(superuser: Client, rival: Account) -> None:
    makers.member(rival, "rita", role="admin")
    assert "rita" not in html(superuser.get(address(User)))
    accounts = superuser.get(address(Account)).context["cl"].result_list
    assert [account.name for account in accounts] == ["Acme"]


@pytest.mark.usefixtures("without_sidebar")
def test_query_count(superuser: Client, acme: Account, subtests: pytest.Subtests) -> None:
    fill(acme)
    sign_all_heads()
    few = {model: look(superuser, model) for model in MODELS}
    fill(acme, 12)  # two of them exist
    for i in range(5):
        makers.member(acme, f"m{i}", role="editor")
    sign_all_heads()
    for model in MODELS:
        with subtests.test(model=model._meta.label):
            rows, queries = look(superuser, model)
            assert rows > few[model][0] or model in ONE_ROW
            assert queries <= few[model][1]


def look(client: Client, model: type[Model]) -> tuple[int, int]:
    """Return the number of rows and of queries of a list."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address(model))
    return len(answer.context["cl"].result_list), len(queries)


def test_anonymous_user_is_sent_to_sign_in(client: Client, db: None) -> None:
    for path in ("/admin/", "/admin/login/"):
        assert client.get(path, follow=True).redirect_chain[-1][0] == "/sign-in/?next=/admin/"


def test_user_without_staff_status_is_refused(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.get("/admin/").status_code == 403
    assert client.get("/admin/login/", follow=True).status_code == 403


def test_staff_without_account_are_refused(client: Client, db: None) -> None:
    user = User.objects.create_superuser("root", "root@example.test", makers.PASSWORD)
    client.force_login(user)
    assert "not a member" in page(client.get("/admin/"), 403)


@pytest.fixture
def in_both(superuser: Client, rival: Account) -> Client:
    boss = User.objects.get(username="boss")
    with acting(rival):
        add_member(account_id=rival.pk, user=boss, role="editor", actor=SYSTEM)
    return superuser


def test_account_is_selected_in_the_header(in_both: Client, rival: Account) -> None:
    fill(rival)
    assert in_both.get(address(MemoryEntry)).context["cl"].result_count == 0
    chosen = {"account": str(rival.pk), "next": "/admin/"}
    answer = in_both.post("/account/", chosen, follow=True)
    assert answer.redirect_chain == [("/admin/", 302)]
    assert f'<option value="{rival.pk}" selected>Rival</option>' in html(answer)
    assert in_both.get(address(MemoryEntry)).context["cl"].result_count == 2


def test_new_user_becomes_a_reviewer(superuser: Client, acme: Account) -> None:
    assert superuser.post(address(User, "add/"), NEW_USER, follow=True).status_code == 200
    with acting(acme):
        member = Membership.objects.of(acme).get(user__username="nia")
        assert member.role == "reviewer"
        assert Commit.objects.of(acme).get(pk=member.commit_id).actor.startswith("user:")
    assert User.objects.get(username="nia").has_initial_password, "staff chose it"


@pytest.mark.usefixtures("committed")
def test_user_added_twice_at_once_is_a_field_error(
    superuser: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Someone else adds the user between the validation of the form and its INSERT."""
    stock = UserAdmin.save_form
    others = iter(["nia"])

    def save_form(self: UserAdmin, *args: Any, **kwargs: Any) -> Any:
        for name in others:
            create = partial(User.objects.create_user, name, f"{name}@example.test")
            with ThreadPoolExecutor(1) as pool:
                pool.submit(run_on_own_connection, create).result()
        return stock(self, *args, **kwargs)

    monkeypatch.setattr(UserAdmin, "save_form", save_form)
    answer = superuser.post(address(User, "add/"), NEW_USER)
    assert answer.status_code == 200
    assert set(answer.context["adminform"].form.errors) == {"username", "email"}
    assert User.objects.filter(username="nia").count() == 1


def test_staff_cannot_become_superusers_or_change_other_logins(
    client: Client, acme: Account, alice: User
) -> None:
    boss, clerk = staff(acme, "boss"), staff(acme, "clerk")
    User.objects.filter(pk=clerk.pk).update(is_superuser=False)
    clerk.user_permissions.set(Permission.objects.filter(content_type__model="user"))
    client.force_login(User.objects.get(pk=clerk.pk))
    assert client.post(address(User, f"{boss.pk}/change/"), {}).status_code == 403
    assert client.post(address(User, f"{boss.pk}/password/"), {}).status_code == 403
    form = client.get(address(User, f"{clerk.pk}/change/")).context["adminform"].form
    assert "is_superuser" not in form.fields
    assert "email" in form.fields
    form = client.get(address(User, f"{alice.pk}/change/")).context["adminform"].form
    assert not {"username", "email", "is_active"} & set(form.fields)
    new = "another long good one"
    body = {"usable_password": "true", "password1": new, "password2": new}
    assert client.post(address(User, f"{alice.pk}/password/"), body).status_code == 403
    assert User.objects.get(pk=alice.pk).check_password(makers.PASSWORD)


def test_user_changes_own_password(superuser: Client) -> None:
    new = "another long good one"
    body = {"old_password": makers.PASSWORD, "new_password1": new, "new_password2": new}
    answer = superuser.post("/admin/password_change/", body)
    assert (answer.status_code, answer.headers["Location"]) == (302, "/admin/password_change/done/")
    assert superuser.get("/admin/").status_code == 200, "and stay signed in"
    assert User.objects.get(username="boss").check_password(new)


def test_sign_out_leads_to_sign_in(superuser: Client) -> None:
    assert superuser.post("/admin/logout/").headers["Location"] == "/sign-in/"
    assert superuser.get("/admin/").status_code == 302
