"""Settings of company sign-in, and whose logins are connected."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from kmapp.accounts.acting import acting
from kmapp.accounts.company_sign_in.actions import (
    PROVIDER_FIELDS,
    delete_company_sign_in,
    disconnect,
    find_company_sign_in,
    save_company_sign_in,
)
from kmapp.accounts.company_sign_in.assertions import RefusalReason, SignInRefused
from kmapp.accounts.company_sign_in.models import CompanyIdentity, CompanySignIn
from kmapp.accounts.company_sign_in.openid_connect import find_issuer, get_allowed_providers
from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict
from kmapp.web.after_commit import AfterCommit
from kmapp.web.company_sign_in_form import CompanySignInForm, OpenIDConnectForm, SAMLForm
from kmapp.web.http import WebRequest, get_row_or_404, paginate
from kmapp.web.identity.company_session import end_company_sessions
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_form

PAGE = "web/company_sign_in/index.html"
# Fields that decide whether a sign-in works. A new certificate may replace a leaked one.
SIGN_IN_FIELDS = (*PROVIDER_FIELDS, "certificate")
REVOKING = (*SIGN_IN_FIELDS, "is_active", "checks_second_factor")  # their change ends sessions


@never_cache  # the question before everyone is disconnected contains the secret
@sensitive_post_parameters("client_secret")
@page_view("GET", "POST", needs=Permission.MEMBERS)
def company_sign_in(request: WebRequest) -> HttpResponse | AfterCommit:
    row = find_company_sign_in(request.account_id)
    form = _find_form(request, row)(request.POST or None, row)
    if request.method == "POST" and form.is_valid():
        _check_exit(request, form, row)
        if form.is_valid():
            return AfterCommit(lambda: _save_form(request, form, row), outside_transaction=True)
    return _render_page(request, form, row)


def _find_form(request: WebRequest, row: CompanySignIn | None) -> type[CompanySignInForm]:
    """Return the form of the protocol that the person chose, or of the one in use."""
    in_use = "saml" if row and row.uses_saml else "openid"
    return SAMLForm if request.GET.get("protocol", in_use) == "saml" else OpenIDConnectForm


def _check_exit(request: WebRequest, form: CompanySignInForm, row: CompanySignIn | None) -> None:
    """Require that whoever makes company sign-in mandatory has signed in through it themselves.

    A sign-in at a provider that another one replaces does not count.
    """
    values = form.values()
    if row and values["issuer"].rstrip("/") == row.issuer.rstrip("/"):
        values["issuer"] = row.issuer
    is_required = values["is_active"] and not values["allows_password"]
    was_required = row is not None and row.is_active and not row.allows_password
    is_changed = not was_required or _changes(values, row, SIGN_IN_FIELDS)
    works = _came_from_provider(request) and not _changes(values, row, PROVIDER_FIELDS)
    if is_required and is_changed and not works:
        form.add_error(
            "allows_password",
            _("Save with this on, sign in through the company yourself, then turn it off."),
        )


def _came_from_provider(request: WebRequest) -> bool:
    """Return whether this session has been at the provider that is in use now.

    Another provider disconnects everyone, but does not end the session that saves it.
    """
    company, identities = request.company, CompanyIdentity.objects.of(request.account_id)
    is_from_company = company is not None and company.account_id == request.account_id
    return is_from_company and identities.filter(user=request.user).exists()


def _changes(values: Mapping[str, Any], row: CompanySignIn | None, names: Iterable[str]) -> bool:
    return row is not None and any(values[name] != getattr(row, name) for name in names)


def _save_form(
    request: WebRequest, form: CompanySignInForm, row: CompanySignIn | None
) -> HttpResponse:
    """Save the form. Check a new issuer at the provider; other changes work while it is down.

    Before everyone is disconnected, ask for confirmation with the number of people.
    """
    values = form.values()
    is_openid = isinstance(form, OpenIDConnectForm)
    if is_openid and (row is None or row.uses_saml or values["issuer"] != row.issuer):
        try:
            values["issuer"] = find_issuer(values["issuer"])
        except SignInRefused as error:
            form.add_error("issuer", _describe(error))
            with acting(request.account_id):
                return _render_page(request, form, row)
    secret = form.cleaned_data.get("client_secret", "")
    with acting(request.account_id):
        if row and request.POST.get("commit_id") == "":  # created since the page was opened
            return _render_conflict(request, form)
        is_revoking = _changes(values, row, REVOKING)
        people = _list_connected(request.account_id) if is_revoking else []
        is_confirmed = request.POST.get("count") == str(len(people))
        if people and _changes(values, row, PROVIDER_FIELDS) and not is_confirmed:
            context = {"form": form, "count": len(people)}
            return render(request, "web/company_sign_in/disconnect.html", context)
        try:
            save_company_sign_in(
                request.account_id,
                values,
                client_secret=secret,
                actor=request.actor,
                commit_id=form.cleaned_data["commit_id"],
            )
        except Conflict:
            return _render_conflict(request, form)
        _end_sessions(request, people)
    text = _("Company sign-in saved.")
    if people:
        text = _("Company sign-in saved. Whoever signed in through the provider must do so again.")
    return redirect_with_notice(request, text, "web:company_sign_in")


def _render_conflict(request: WebRequest, form: CompanySignInForm) -> HttpResponse:
    current = find_company_sign_in(request.account_id)
    form.add_conflict("commit_id", current.commit_id if current else "")
    return _render_page(request, form, current)


def _list_connected(account_id: UUID) -> list[UUID]:
    return list(CompanyIdentity.objects.of(account_id).values_list("user_id", flat=True))


def _end_sessions(request: WebRequest, people: list[UUID]) -> None:
    """End the sessions through the provider, except that of the person who asks for it."""
    end_company_sessions(request.account_id, people, except_key=request.session.session_key)


def _describe(error: SignInRefused) -> str:
    if error.reason == RefusalReason.UNREACHABLE:
        hosts = ", ".join(sorted(get_allowed_providers().hosts | get_allowed_providers().private))
        text = _("The provider could not be reached: check the URL. Allowed hosts: %(hosts)s")
        return text % {"hosts": hosts}
    return _("No OpenID Connect provider with this issuer answers at this URL.")


def _render_page(
    request: WebRequest, form: CompanySignInForm, row: CompanySignIn | None
) -> HttpResponse:
    people = CompanyIdentity.objects.of(request.account_id).select_related("user")
    slug = request.access.slug
    context: dict[str, Any] = {
        "form": form,
        "row": row,
        "is_saml": isinstance(form, SAMLForm),
        "is_off": not get_allowed_providers() and row is None,
        "page": paginate(request, people.order_by("user__email", "pk")),
        "redirect_uri": request.build_absolute_uri(reverse("company_finish", args=[slug])),
        "start_url": request.build_absolute_uri(reverse("company_start", args=[slug])),
    }
    return render_form(request, PAGE, context, invalid=form.is_bound)


@page_view("GET", "POST", needs=Permission.MEMBERS)
def delete(request: WebRequest) -> HttpResponse:
    if request.method != "POST":
        return render(request, "web/company_sign_in/confirm.html")
    people = _list_connected(request.account_id)
    delete_company_sign_in(request.account_id, actor=request.actor)
    _end_sessions(request, people)
    return redirect_with_notice(request, _("Company sign-in deleted."), "web:company_sign_in")


@page_view("GET", "POST", needs=Permission.MEMBERS)
def disconnect_person(request: WebRequest, pk: UUID) -> HttpResponse:
    identity = get_row_or_404(request, CompanyIdentity, pk)
    if request.method != "POST":
        context = {"identity": identity}
        return render(request, "web/company_sign_in/disconnect_person.html", context)
    user = identity.user
    disconnect(request.account_id, user, actor=request.actor)
    _end_sessions(request, [user.pk])
    text = _("%(who)s is disconnected.") % {"who": user.email}
    return redirect_with_notice(request, text, "web:company_sign_in")
