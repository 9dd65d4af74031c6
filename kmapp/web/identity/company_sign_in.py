"""Sign-in at the identity provider of an account: redirect to it, and handle its response."""

import hmac
import time
from typing import Any
from uuid import UUID

import structlog
from allauth.account.internal.flows.login import perform_login
from allauth.account.models import Login
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.company_sign_in.admission import admit_person
from kmapp.accounts.company_sign_in.assertions import RefusalReason, SignInRefused
from kmapp.accounts.company_sign_in.models import CompanySignIn, OpenSignIn, find_open_sign_in
from kmapp.accounts.company_sign_in.openid_connect import StartedSignIn
from kmapp.accounts.company_sign_in.protocol_dispatch import parse_answer, start_at_provider
from kmapp.accounts.models import User, list_account_access
from kmapp.api import throttles
from kmapp.web.http import as_web_request, safe_next_url
from kmapp.web.identity.company_errors import TEXTS
from kmapp.web.identity.company_session import (
    CompanySession,
    find_company_session,
    store_company_session,
)
from kmapp.web.page_access import SELECTED_ACCOUNT
from kmapp.web.rate_limits import limit_attempts
from kmapp.web.success_messages import notify_success

STARTED = "company_started"  # session key of the sign-in that waits for its response
MAX_SECONDS = 600  # until it expires
log = structlog.get_logger()


def start(request: HttpRequest, slug: str) -> HttpResponse:
    """Redirect to the provider. Ask first if someone is signed in or comes from another site."""
    company = _get_company(slug)
    next_url = safe_next_url(request, reverse("web:home"))
    user = as_web_request(request).user if request.user.is_authenticated else None
    present = find_company_session(request.session, user) if user else None
    # Without an own login, the session opens one account, and connects no login to another.
    if present and present.without_own_login:
        return redirect(next_url)
    if not _is_confirmed(request, slug, user):
        return _render_question(request, company, user, next_url)
    limit_attempts(request)
    started = StartedSignIn()
    try:
        url = start_at_provider(_load_sign_in(company), started, **_build_own_urls(request, slug))
    except SignInRefused as error:
        return _render_refusal(request, company, error)
    request.session[STARTED] = {
        "slug": slug,
        "at": time.time(),
        "user": str(user.pk) if user else "",
        "next": next_url,
        "secrets": started.dump(),
    }
    return redirect(url)


def finish(request: HttpRequest, slug: str) -> HttpResponse:
    """Sign in the person whom the provider sent back, or connect the login that is signed in."""
    company = _get_company(slug)
    if "SAMLResponse" in request.POST and "relayed" not in request.POST:
        # A POST from another site has no session cookie (SameSite=Lax). This page sends it again
        # from our own site.
        return render(request, "web/session/company_relay.html", {"company": company})
    stored = request.session.pop(STARTED, None)
    person = as_web_request(request).user if request.user.is_authenticated else None
    try:
        if stored is None or not _is_current(stored, slug, person):
            raise SignInRefused(RefusalReason.EXPIRED, "response: no sign-in was started")
        sign_in = _load_sign_in(company)
        answer = {**request.GET.dict(), **request.POST.dict()}
        started = StartedSignIn.load(stored["secrets"])
        stated = parse_answer(sign_in, started, answer, **_build_own_urls(request, slug))
        user = admit_person(sign_in, stated, person=person)
    except SignInRefused as error:
        return _render_refusal(request, company, error)
    log.info("company_sign_in", user=str(user.pk), account=str(company.account_id))
    return _open_account(request, sign_in, user, stored["next"], is_signed_in=person is not None)


def _open_account(
    request: HttpRequest, sign_in: CompanySignIn, user: User, next_url: str, *, is_signed_in: bool
) -> HttpResponse:
    """Open the account, in the session of a person who is signed in or in a new one."""
    request.session[SELECTED_ACCOUNT] = str(sign_in.account_id)
    company = CompanySession.of(sign_in, without_own_login=not is_signed_in).dump()
    if is_signed_in:
        store_company_session(request.session, user, company)
        notify_success(request, _("Your login is connected with %(name)s.") % {"name": sign_in})
        return redirect(next_url)
    login = Login(user=user, redirect_url=next_url, signal_kwargs={"company": company})
    answer: HttpResponse = perform_login(request, login)
    return answer


def _is_current(stored: dict[str, Any], slug: str, person: User | None) -> bool:
    """Return whether the sign-in was started here recently, by the person who is signed in now."""
    is_recent = time.time() - float(stored["at"]) < MAX_SECONDS
    return (
        is_recent and stored["slug"] == slug and stored["user"] == str(person.pk if person else "")
    )


def _render_question(
    request: HttpRequest, company: OpenSignIn, user: User | None, next_url: str
) -> HttpResponse:
    """Ask before a session is created, or a login connected, that the person may not expect."""
    accesses = list_account_access(user) if user else []
    own = next((each for each in accesses if each.account_id == company.account_id), None)
    context = {
        "company": company,
        "required": own if own and own.requires_company_sign_in else None,
        "others": [each for each in accesses if each != own and not each.archived_at],
        "next": next_url,
        "confirmation": _sign_confirmation(request, company.slug),
    }
    return render(request, "web/session/company.html", context)


def _sign_confirmation(request: HttpRequest, slug: str) -> str:
    """Return the signature of a link, which shows that a page of this session contained it."""
    if not request.session.session_key:
        limit_attempts(request)  # each creates a session
        request.session.create()
    value = f"{request.session.session_key}:{slug}"
    return salted_hmac("kmapp.web.company", value, algorithm="sha256").hexdigest()


def _is_confirmed(request: HttpRequest, slug: str, user: User | None) -> bool:
    if user is None and request.headers.get("Sec-Fetch-Site") == "same-origin":
        return True
    confirmation = request.GET.get("confirmation", "")
    return hmac.compare_digest(confirmation.encode(), _sign_confirmation(request, slug).encode())


def _render_refusal(
    request: HttpRequest, company: OpenSignIn, error: SignInRefused
) -> HttpResponse:
    refusal = TEXTS[error.reason]
    log.warning(
        "company_sign_in_refused",
        account=str(company.account_id),
        address=throttles.client_address(request),
        reason=error.reason.value,
        detail=error.detail,
    )
    context = {
        "company": company,
        "reason": error.reason.value,
        "title": refusal.title,
        "text": str(refusal.text) % {"name": company.name},
    }
    return render(request, "web/session/company_refused.html", context, status=refusal.status)


def _get_company(slug: str) -> OpenSignIn:
    company = find_open_sign_in(slug)
    if company is None:
        raise Http404
    return company


def _load_sign_in(company: OpenSignIn) -> CompanySignIn:
    account_id: UUID = company.account_id
    with acting(account_id):
        return CompanySignIn.objects.of(account_id).get()


def _build_own_urls(request: HttpRequest, slug: str) -> dict[str, str]:
    return {
        "start_url": request.build_absolute_uri(reverse("company_start", args=[slug])),
        "back_url": request.build_absolute_uri(reverse("company_finish", args=[slug])),
    }
