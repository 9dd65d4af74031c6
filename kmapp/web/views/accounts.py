"""Accounts of the installation, for its owner."""

from uuid import UUID

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.account_administration import (
    AccountSummary,
    archive_account,
    join_account,
    list_accounts,
    rename_account,
    restore_account,
)
from kmapp.accounts.actions import create_account
from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict
from kmapp.web.account_forms import AccountForm, NewAccountForm
from kmapp.web.http import WebRequest
from kmapp.web.page_access import SELECTED_ACCOUNT, page_view
from kmapp.web.responses import redirect_page, redirect_with_notice, render_form

FORM = "web/accounts/form.html"


@page_view("GET", owner=True)
def accounts(request: WebRequest) -> HttpResponse:
    context = {
        "accounts": list_accounts(),
        "own": {access.account_id for access in request.accesses},
    }
    return render(request, "web/accounts/index.html", context)


@page_view("GET", "POST", needs=Permission.READ, owner=True)
def create(request: WebRequest) -> HttpResponse:
    """Create an account. Its creator is its first admin and works in it from now on."""
    form = NewAccountForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            account = create_account(**form.cleaned_data, actor=request.actor)
        except Conflict as error:
            form.add_error("slug", error.message)
        else:
            join_account(account.pk, user=request.user, actor=request.actor)
            request.session[SELECTED_ACCOUNT] = str(account.pk)
            text = _("You now work in %(name)s. Invite its members.") % {"name": account.name}
            return redirect_with_notice(request, text, "web:members")
    return render_form(request, FORM, {"form": form}, invalid=form.is_bound)


@page_view("GET", "POST", needs=Permission.READ, owner=True)
def rename(request: WebRequest, pk: UUID) -> HttpResponse:
    account = _get_account(pk)
    form = AccountForm(request.POST or None, initial={"name": account.name})
    if request.method == "POST" and form.is_valid():
        rename_account(pk, name=form.cleaned_data["name"], actor=request.actor)
        return redirect_with_notice(request, _("Account renamed."), "web:accounts")
    context = {"form": form, "account": account}
    return render_form(request, FORM, context, invalid=form.is_bound)


@page_view("GET", "POST", needs=Permission.READ, owner=True)
def archive(request: WebRequest, pk: UUID) -> HttpResponse:
    account = _get_account(pk)
    if request.method != "POST":
        return render(request, "web/accounts/archive.html", {"account": account})
    archive_account(pk, actor=request.actor)
    text = _("%(name)s is archived and read-only.") % {"name": account.name}
    undo = reverse("web:account_restore", args=[pk])
    return redirect_with_notice(request, text, "web:accounts", undo=undo)


@page_view("POST", needs=Permission.READ, owner=True)
def restore(request: WebRequest, pk: UUID) -> HttpResponse:
    account = _get_account(pk)
    restore_account(pk, actor=request.actor)
    text = _("%(name)s is restored.") % {"name": account.name}
    return redirect_page(request, reverse("web:accounts"), notice=text)


@page_view("POST", needs=Permission.READ, owner=True)
def join(request: WebRequest, pk: UUID) -> HttpResponse:
    """Become an admin of an account, and work in it."""
    _get_account(pk)
    join_account(pk, user=request.user, actor=request.actor)
    request.session[SELECTED_ACCOUNT] = str(pk)
    return redirect("web:members")


def _get_account(pk: UUID) -> AccountSummary:
    account = next((each for each in list_accounts() if each.account_id == pk), None)
    if account is None:
        raise Http404
    return account
