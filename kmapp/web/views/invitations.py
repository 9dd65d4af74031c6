"""Invitations by e-mail: sending them, and the page that their link opens."""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from http import HTTPStatus
from typing import Any
from uuid import UUID

import structlog
from allauth.account.adapter import get_adapter
from allauth.account.internal.flows.login import perform_login
from allauth.account.models import Login
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kmapp.accounts.acting import acting
from kmapp.accounts.invitations import (
    accept_invitation,
    find_invitation,
    invite,
    renew_invitation,
    revoke_invitation,
    sign_link,
)
from kmapp.accounts.models import Account, Invitation, User
from kmapp.accounts.permissions import Permission
from kmapp.database.unique_violations import refuse_duplicate
from kmapp.errors import Conflict, DomainError, Unavailable
from kmapp.web.account_forms import InvitationForm
from kmapp.web.actor_names import list_actor_names
from kmapp.web.after_commit import AfterCommit
from kmapp.web.error_views import render_error
from kmapp.web.http import WebRequest, as_web_request, get_row_or_404
from kmapp.web.identity.company_session import find_company_session
from kmapp.web.login_forms import NewLoginForm
from kmapp.web.page_access import SELECTED_ACCOUNT, page_view
from kmapp.web.rate_limits import limit_attempts, limit_requests
from kmapp.web.responses import redirect_with_notice, render_form
from kmapp.web.success_messages import notify_success

log = structlog.get_logger()
PAGE = "web/invitations/accept.html"


def list_open_invitations(account_id: UUID) -> Sequence[tuple[Invitation, str]]:
    """Return the open invitations with the names of those who sent them. Inside `acting`."""
    rows = list(Invitation.objects.of(account_id).open().order_by("-created_at"))
    names = list_actor_names(row.invited_by for row in rows) if rows else {}
    return [(row, names[row.invited_by]) for row in rows]


@page_view("GET", "POST", needs=Permission.MEMBERS)
def invite_person(request: WebRequest) -> HttpResponse | AfterCommit:
    form = InvitationForm(request.POST or None, initial={"language": get_language()})
    if request.method == "POST" and form.is_valid():
        _count_message(request)
        try:
            row = invite(account_id=request.account_id, actor=request.actor, **form.cleaned_data)
        except Conflict as error:
            form.add_error("email", error.message)
        else:
            return AfterCommit(partial(_send_invitation, request, row), outside_transaction=True)
    context = {"form": form, "sends_mail": bool(settings.EMAIL_HOST)}
    return render_form(request, "web/invitations/form.html", context, invalid=form.is_bound)


@page_view("POST", needs=Permission.MEMBERS)
def resend(request: WebRequest, pk: UUID) -> AfterCommit:
    """Send the invitation again, with a new link."""
    row = get_row_or_404(request, Invitation, pk)
    _count_message(request)
    renewed = renew_invitation(row, actor=request.actor)
    return AfterCommit(partial(_send_invitation, request, renewed), outside_transaction=True)


@page_view("POST", needs=Permission.MEMBERS)
def revoke(request: WebRequest, pk: UUID) -> HttpResponse:
    row = get_row_or_404(request, Invitation, pk)
    revoke_invitation(row, actor=request.actor)
    text = _("The invitation of %(who)s is revoked. Its link no longer works.") % {"who": row.email}
    return redirect_with_notice(request, text, "web:members")


def _count_message(request: WebRequest) -> None:
    """Raise OverBudget if this account sends too many messages."""
    message = _("Too many invitations. Nothing was sent. Wait a minute, then try again.")
    limit_requests("invitation", str(request.account_id), message)


def _send_invitation(request: WebRequest, row: Invitation) -> HttpResponse:
    """Send the message. A failure is only reported, because the invitation is already stored.

    Outside of transactions, because the mail server may take long.
    """
    path = reverse("web:invitation", args=[sign_link(row)])
    context = {
        "account": request.access.name,
        "inviter": request.user.get_full_name() or request.user.email,
        "invitation_url": get_adapter(request).build_link(path),
    }
    try:
        with override(row.language):
            context["role"] = str(row.get_role_display())
            get_adapter(request).send_mail("account/email/invitation", row.email, context)
    except Unavailable:
        text = _("%(who)s is invited, but the e-mail could not be sent. Resend it later.")
    else:
        text = _("%(who)s is invited. The link works once, for seven days.")
    return redirect_with_notice(request, text % {"who": row.email}, "web:members")


def _public_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Make a page for anyone with the link."""

    @wraps(view)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except DomainError as error:
            return render_error(request, error)

    return page


@sensitive_post_parameters("new_password1", "new_password2")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@_public_page
def accept(request: HttpRequest, token: str) -> HttpResponse:
    """Join an account: as the person who is signed in, or with a new login."""
    if request.method == "POST":
        limit_attempts(request)
    opened = find_invitation(token)
    if opened is None:
        return render(request, PAGE, {"state": "void"}, status=HTTPStatus.NOT_FOUND)
    account, invitation = opened
    state = _find_state(request, invitation)
    context = {"account": account, "invitation": invitation, "state": state}
    if state == "join" and request.method == "POST":
        return _accept_and_enter(request, account, invitation, as_web_request(request).user)
    if state != "new":
        return render(request, PAGE, context)
    login = User(username=invitation.email, email=invitation.email, language=get_language() or "")
    form = NewLoginForm(login, request.POST or None)
    if request.method == "POST" and form.is_valid():
        return _accept_and_enter(request, account, invitation, form.save(commit=False), is_new=True)
    return render_form(request, PAGE, {**context, "form": form}, invalid=form.is_bound)


def _find_state(request: HttpRequest, invitation: Invitation) -> str:
    """Return the state of the page: "join", "reset", "other", "sign_in" or "new".

    Whoever has the link can read the mailbox of the invited person. But an admin of another
    account, who chose the password of a login or whose provider states to be its person, must not
    gain access with that login.
    """
    if request.user.is_authenticated:
        company = find_company_session(request.session, request.user)
        is_own_session = company is None or not company.without_own_login
        if request.user.email.lower() != invitation.email or not is_own_session:
            return "other"
        return "reset" if request.user.has_initial_password else "join"
    exists = User.objects.filter(email__iexact=invitation.email).exists()
    return "sign_in" if exists else "new"


def _accept_and_enter(
    request: HttpRequest,
    account: Account,
    invitation: Invitation,
    user: User,
    *,
    is_new: bool = False,
) -> HttpResponse:
    """Accept the invitation, and work in the account from now on."""
    with acting(account):
        if is_new:
            message = _("A login with this address exists. Sign in, then open the link.")
            with refuse_duplicate(message):
                user.save()
        accept_invitation(invitation, user)
    log.info("invitation_accepted", user=str(user.pk), account=str(account.pk), new=is_new)
    home = reverse("web:home")
    text = _("You are now a member of %(name)s.") % {"name": account.name}
    if is_new:
        answer: HttpResponse = perform_login(request, Login(user=user, redirect_url=home))
        notify_success(request, text)
    else:
        answer = redirect_with_notice(request, text, home)
    request.session[SELECTED_ACCOUNT] = str(account.pk)
    return answer
