"""Django's error handlers: JSON for the API, pages for people.

The pages for server errors use neither the session nor the database.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _

from kmapp.api import errors as api
from kmapp.errors import DomainError, Waiting
from kmapp.web.context_processors import chrome

Handler = Callable[[HttpRequest, Exception], HttpResponse]


def render_error(request: HttpRequest, error: DomainError) -> HttpResponse:
    """Render a domain error as a page, or for htmx as a notice."""
    answer = _render_page(request, HTTPStatus(error.status), text=error.message)
    if isinstance(error, Waiting):
        answer.headers["Retry-After"] = str(round(error.retry_after))
    return answer


def signed_out(request: HttpRequest) -> HttpResponse:
    """Render a notice for a form that htmx sent without a session, so that its fields stay."""
    text = _(
        "You are signed out, and nothing was saved. What you typed is still on this page: copy "
        "it, then reload the page to sign in."
    )
    answer = _render_page(request, HTTPStatus.UNAUTHORIZED, text=text)
    answer.headers["HX-Reswap"] = "innerHTML"  # a form may be sent after each change
    return answer


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    text = _("The request could not be read. Nothing was changed. Go back and try again.")
    return _render_page(request, HTTPStatus.BAD_REQUEST, text=text)


def denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _render_page(
        request,
        HTTPStatus.FORBIDDEN,
        text=_(
            "You do not have permission to do this, and nothing was changed. Ask an admin of "
            "this account."
        ),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    text = _(
        "This page does not exist, or it belongs to another account. Check the address "
        "or switch accounts."
    )
    return _render_page(request, HTTPStatus.NOT_FOUND, text=text)


def method_not_allowed(request: HttpRequest, allowed: Sequence[str]) -> HttpResponse:
    """Render a 405: the address of a form was opened, or a form was sent to that of a page."""
    text = _("This address receives forms and is not a page. Nothing was changed.")
    answer = _render_page(request, HTTPStatus.METHOD_NOT_ALLOWED, text=text)
    answer.headers["Allow"] = ", ".join(allowed)
    return answer


def too_many_requests(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    text = _("Too many attempts. Nothing was changed. Wait a minute, then try again.")
    answer = _render_page(request, HTTPStatus.TOO_MANY_REQUESTS, text=text)
    answer.headers["Retry-After"] = "60"
    return answer


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    text = _(
        "This form has expired, or cookies are turned off. Nothing was changed. Reload "
        "the page and submit the form again."
    )
    return _render_page(request, HTTPStatus.FORBIDDEN, text=text)


def server_error(request: HttpRequest) -> HttpResponse:
    text = _(
        "Something went wrong on our side, and the error was logged. Your changes may "
        "not be saved: check before you try again."
    )
    return _render_standalone(request, HTTPStatus.INTERNAL_SERVER_ERROR, text=text)


def unavailable(request: HttpRequest, headers: Mapping[str, str]) -> HttpResponse:
    """Render a 503 when the database is full, unreachable or slow."""
    text = _("The database is busy, and your changes were not saved. Try again in a moment.")
    return _render_standalone(request, HTTPStatus.SERVICE_UNAVAILABLE, text=text, headers=headers)


def _render_standalone(
    request: HttpRequest, status: HTTPStatus, *, text: str, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """Render without the session and the database, either of which may have failed."""
    context = _title_context(status) | {
        "text": text,
        "request_id": getattr(request, "request_id", ""),
        "chrome": chrome(request, use_user=False),
    }
    page = render_to_string("web/refusal.html", context)
    return HttpResponse(page, status=status, headers=headers)


def _render_page(request: HttpRequest, status: HTTPStatus, *, text: str) -> HttpResponse:
    context = _title_context(status) | {"text": text}
    if not getattr(request, "htmx", False):
        return render(request, "web/refusal.html", context, status=status)
    answer = render(request, "web/refusal.html#notice", context, status=status)
    answer.headers["HX-Retarget"] = "#notices"
    answer.headers["HX-Reswap"] = "beforeend"
    return answer


def _title_context(status: HTTPStatus) -> dict[str, object]:
    titles = {
        HTTPStatus.BAD_REQUEST: _("Bad request"),
        HTTPStatus.FORBIDDEN: _("Access denied"),
        HTTPStatus.NOT_FOUND: _("Not found"),
        HTTPStatus.CONFLICT: _("Not possible in the current state"),
        HTTPStatus.GONE: _("Erased"),
        HTTPStatus.TOO_MANY_REQUESTS: _("Too many requests"),
        HTTPStatus.INTERNAL_SERVER_ERROR: _("Something went wrong"),
        HTTPStatus.SERVICE_UNAVAILABLE: _("Temporarily unavailable"),
    }
    return {"status": status.value, "title": titles.get(status, _("Request refused"))}


def _choose_by_path(for_page: Handler) -> Handler:
    def handle(request: HttpRequest, exception: Exception) -> HttpResponse:
        if api.is_api(request.path):
            return api.render_client_error(exception)
        return for_page(request, exception)

    return handle


handler400 = _choose_by_path(bad_request)
handler403 = _choose_by_path(denied)
handler404 = _choose_by_path(not_found)


def handler500(request: HttpRequest) -> HttpResponse:
    # Django calls this while it handles the error and does not pass it as an argument.
    error = sys.exc_info()[1]
    if api.is_api(request.path):
        return api.render_server_error(error)
    refusal = error and api.translate_error(error)
    if refusal and refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return unavailable(request, refusal.headers)
    return server_error(request)
