"""Sign-in and sign-out."""

from http import HTTPStatus

import structlog
from allauth.account.internal.flows.login import perform_login, record_authentication
from allauth.account.models import Login
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from kmapp.accounts.company_sign_in.models import list_open_sign_ins
from kmapp.api import throttles
from kmapp.web.http import safe_next_url
from kmapp.web.login_forms import SignInForm

log = structlog.get_logger()


@sensitive_post_parameters("password")
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect(safe_next_url(request, "web:home"))
    if request.method != "POST":
        return _render_form(request, SignInForm(request))
    address = throttles.client_address(request)
    budget = throttles.count_request("sign_in", address)
    if budget and budget.used > budget.limit:
        log.warning("sign_in_throttled", address=address)
        return _render_throttled(request, budget.seconds)
    form = SignInForm(request, request.POST)
    if not form.is_valid():
        # The username is not logged, because it may be a password.
        log.warning("sign_in_failed", address=address)
        return _render_form(request, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    user = form.get_user()
    # The password also confirms changes of the login in the next minutes.
    record_authentication(request, user, method="password", reauthenticated=True)
    login = Login(user=user, redirect_url=safe_next_url(request, reverse("web:home")))
    answer: HttpResponse = perform_login(request, login)
    return answer


def _render_form(
    request: HttpRequest, form: SignInForm, *, status: int = HTTPStatus.OK, error: str = ""
) -> HttpResponse:
    context = {
        "form": form,
        "error": error,
        "next": safe_next_url(request, ""),
        "companies": [company for company in list_open_sign_ins() if company.is_listed],
    }
    return render(request, "web/session/form.html", context, status=status)


def _render_throttled(request: HttpRequest, seconds: int) -> HttpResponse:
    """Render the form again without checking the password, so that nothing typed is lost."""
    text = _("Too many attempts from your IP address. Wait %(seconds)d seconds, then try again.")
    form = SignInForm(request, initial={"username": request.POST.get("username", "")})
    error = text % {"seconds": seconds}
    answer = _render_form(request, form, status=HTTPStatus.TOO_MANY_REQUESTS, error=error)
    answer.headers["Retry-After"] = str(seconds)
    return answer


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    log.info("signed_out", user=str(request.user.pk))
    logout(request)
    answer = redirect("web:sign_in")
    answer.headers["Clear-Site-Data"] = '"cache"'  # the back button shows no cached page
    return answer
