"""Views of allauth as pages of kmapp, with its frame, permissions and statuses."""

from functools import partial
from http import HTTPStatus
from typing import Any

import structlog
from allauth.account.adapter import get_adapter
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kmapp.accounts.second_factor import has_second_factor
from kmapp.errors import DomainError
from kmapp.web.error_views import render_error
from kmapp.web.http import WebRequest, as_web_request
from kmapp.web.page_access import PageAccess, View, redirect_to_sign_in, run_view
from kmapp.web.sessions import end_sessions

METHODS = ["GET", "HEAD", "POST"]
OWN_LOGIN = PageAccess(without_factor=True, own_login=True)
log = structlog.get_logger()


def public_page(view: View) -> View:
    """Make a page for people who are not signed in."""

    @sensitive_post_parameters()
    @never_cache
    @require_http_methods(METHODS)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            answer = _render_response(request, view(request, *args, **kwargs))
        except DomainError as error:
            return render_error(request, error)
        if answer.status_code == HTTPStatus.UNPROCESSABLE_ENTITY:
            log_failed_attempt(request)
        return answer

    return page


def log_failed_attempt(request: HttpRequest) -> None:
    address = get_adapter(request).get_client_ip(request)
    log.warning("sign_in_failed", address=address, page=request.path)


def member_page(view: View) -> View:
    """Make a page for members, also for those who have no second factor yet but need one."""

    @sensitive_post_parameters()
    @never_cache
    @require_http_methods(METHODS)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_sign_in(request)
        inside = partial(_render_inside, view, args, kwargs)
        return run_view(as_web_request(request), inside, OWN_LOGIN)

    page.access = OWN_LOGIN  # type: ignore[attr-defined]  # read by a test of all pages
    return page


def factor_page(view: View) -> View:
    """Make a page that adds a second factor. The first one ends sessions without it."""

    def add(request: WebRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        had_factor = has_second_factor(request.user)
        answer = view(request, *args, **kwargs)
        if not had_factor and has_second_factor(request.user):
            end_sessions(request.user, except_key=request.session.session_key)
        return answer

    return member_page(add)


def _render_inside(
    view: View, args: Any, kwargs: dict[str, Any], request: WebRequest
) -> HttpResponseBase:
    return _render_response(request, view(request, *args, **kwargs))


def _render_response(request: HttpRequest, answer: HttpResponseBase) -> HttpResponseBase:
    """Render a template response, with status 422 if a submitted form is invalid."""
    if not isinstance(answer, SimpleTemplateResponse):
        return answer
    context = answer.context_data or {}
    forms = (context.get("form"), context.get("webauthn_form"))
    invalid = any(form is not None and form.is_bound and form.errors for form in forms)
    if invalid and request.method == "POST":
        answer.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
    return answer.render()


def list_passkeys(request: HttpRequest) -> HttpResponseBase:
    """Redirect from allauth's list of passkeys to the page that contains it."""
    return redirect("mfa_index")
