"""Who is here and in which account: sign in, sign out, change account."""

from http import HTTPStatus

import structlog
from django.contrib.auth import login, logout, update_session_auth_hash
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST
from rest_framework.request import Request

from kmapp.api import throttles
from kmapp.web.forms import PasswordForm
from kmapp.web.http import WebRequest, safe_next_url
from kmapp.web.notices import tell
from kmapp.web.page_access import SELECTED_ACCOUNT, reviewer_required
from kmapp.web.preferences import remember
from kmapp.web.sign_in import SignInForm

log = structlog.get_logger()


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect(safe_next_url(request, "web:home"))
    if request.method != "POST":
        return _ask(request, SignInForm(request))
    address = throttles.client_address(Request(request))
    budget = throttles.count("sign_in", address)
    if budget and budget.used > budget.limit:
        log.warning("sign_in_throttled", address=address)
        return _slow_down(request, budget.seconds)
    form = SignInForm(request, request.POST)
    if not form.is_valid():
        log.warning("sign_in_failed", address=address)  # what was typed may be a password
        return _ask(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    user = form.get_user()
    login(request, user)
    log.info("signed_in", user=str(user.pk), address=address)
    return remember(
        redirect(safe_next_url(request, "web:home")), theme=user.theme, language=user.language
    )


def _ask(request: HttpRequest, form: SignInForm, *, status: int = HTTPStatus.OK) -> HttpResponse:
    context = {"form": form, "next": safe_next_url(request, "")}
    return render(request, "web/session/form.html", context, status=status)


def _slow_down(request: HttpRequest, seconds: int) -> HttpResponse:
    """Ask again without looking at the password: what was typed is neither checked nor lost."""
    text = _("Too many attempts from your address. Wait %(seconds)d seconds, then try again.")
    form = SignInForm(request, initial={"username": request.POST.get("username", "")})
    context = {
        "form": form,
        "refused": text % {"seconds": seconds},
        "next": safe_next_url(request, ""),
    }
    answer = render(request, "web/session/form.html", context, status=HTTPStatus.TOO_MANY_REQUESTS)
    answer.headers["Retry-After"] = str(seconds)
    return answer


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    log.info("signed_out", user=str(request.user.pk))
    logout(request)
    answer = redirect("web:sign_in")
    answer.headers["Clear-Site-Data"] = '"cache"'  # "back" shows nobody what they saw
    return answer


@require_POST
@reviewer_required
def switch_account(request: WebRequest) -> HttpResponse:
    wanted = request.POST.get("account", "")
    if wanted not in {str(access.account_id) for access in request.accesses}:
        raise Http404
    request.session[SELECTED_ACCOUNT] = wanted
    # Home unless a page asks otherwise: the one they were on may not exist there.
    return redirect(safe_next_url(request, "web:home"))


@sensitive_post_parameters()
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def password(request: WebRequest) -> HttpResponse:
    """Change one's own. This session stays; those elsewhere end."""
    form = PasswordForm(request.user, request.POST or None)
    if request.method != "POST" or not form.is_valid():
        status = HTTPStatus.UNPROCESSABLE_ENTITY if form.is_bound else HTTPStatus.OK
        return render(request, "web/session/password.html", {"form": form}, status=status)
    update_session_auth_hash(request, form.save())
    log.info("password_changed", user=str(request.user.pk))
    tell(request, _("Your password is changed. You stay signed in here, and nowhere else."))
    return redirect("web:home")
