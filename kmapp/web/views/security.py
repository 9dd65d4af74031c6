"""The person's own login: second factors and sessions."""

from collections.abc import Sequence
from contextlib import suppress

from allauth.mfa.models import Authenticator
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from kmapp.accounts.company_sign_in.actions import disconnect
from kmapp.accounts.company_sign_in.models import CompanyIdentity, find_open_sign_in
from kmapp.accounts.permissions import Permission
from kmapp.accounts.second_factor import FACTORS
from kmapp.errors import Conflict
from kmapp.web.http import WebRequest
from kmapp.web.identity.company_session import end_company_sessions
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from kmapp.web.sessions import end_session, end_sessions, list_sessions


@page_view("GET", without_factor=True, own_login=True)
def security(request: WebRequest) -> HttpResponse:
    own = list(Authenticator.objects.filter(user=request.user).order_by("created_at"))
    by_type = {kind: [row for row in own if row.type == kind] for kind in Authenticator.Type}
    codes = by_type[Authenticator.Type.RECOVERY_CODES]
    has_factor = any(by_type[kind] for kind in FACTORS)
    company = find_open_sign_in(request.access.slug)
    identities = CompanyIdentity.objects.of(request.account_id)
    context = {
        "app": next(iter(by_type[Authenticator.Type.TOTP]), None),
        "passkeys": by_type[Authenticator.Type.WEBAUTHN],
        "codes_left": _count_unused_codes(codes),
        "has_factor": has_factor,
        "must_add_factor": request.access.require_second_factor and not has_factor,
        "sessions": list_sessions(request),
        "company": company,
        "connected": identities.filter(user=request.user).first() if company else None,
    }
    return render(request, "web/security/index.html", context)


def _count_unused_codes(rows: Sequence[Authenticator]) -> int:
    """Return the number of unused recovery codes: none if they cannot be decrypted."""
    with suppress(Conflict):
        return sum(len(row.wrap().get_unused_codes()) for row in rows)
    return 0


@page_view("POST", needs=Permission.READ, without_factor=True, own_login=True)
def end_one(request: WebRequest) -> HttpResponse:
    if not end_session(request, request.POST.get("session", "")):
        raise Http404
    return redirect_with_notice(request, _("The session has ended."), "mfa_index")


@page_view("POST", needs=Permission.READ, without_factor=True, own_login=True)
def end_others(request: WebRequest) -> HttpResponse:
    number = end_sessions(request.user, except_key=request.session.session_key)
    text = ngettext("%(n)d other session has ended.", "%(n)d other sessions have ended.", number)
    return redirect_with_notice(request, text % {"n": number}, "mfa_index")


@page_view("GET", "POST", needs=Permission.READ, own_login=True)
def disconnect_company(request: WebRequest) -> HttpResponse:
    if request.method != "POST":
        return render(request, "web/security/disconnect.html")
    disconnect(request.account_id, request.user, actor=request.actor)
    key = request.session.session_key
    end_company_sessions(request.account_id, [request.user.pk], except_key=key)
    return redirect_with_notice(request, _("Your login is disconnected."), "mfa_index")
