"""Responses of pages: pages or their htmx fragments, redirects, cookies, example commands."""

from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from http import HTTPStatus
from typing import Any, cast

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag

from kmapp.web.http import WebRequest
from kmapp.web.success_messages import notify_success


def fragment(request: WebRequest, template: str, name: str) -> str:
    """Return the template, or for htmx its named partial. History navigation needs the page."""
    wants_part = request.htmx and not request.htmx.history_restore_request
    return f"{template}#{name}" if wants_part else template


def render_part(
    request: WebRequest,
    template: str,
    name: str,
    context: Mapping[str, Any],
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Render the page, or for htmx its named partial.

    In a partial, `swapped` is true: it then also contains the elements outside of it that change
    with it, for out-of-band swaps.
    """
    part = fragment(request, template, name)
    return render(request, part, {"swapped": part != template, **context}, status=status)


def render_form(
    request: HttpRequest, template: str, context: Mapping[str, Any], *, invalid: object
) -> HttpResponse:
    """Render a page with a form, with status 422 if the submitted form is invalid."""
    status = HTTPStatus.UNPROCESSABLE_ENTITY if invalid else HTTPStatus.OK
    return render(request, template, context, status=status)


def render_polled(
    request: WebRequest, template: str, context: Mapping[str, Any], *, part: str = ""
) -> HttpResponse:
    """Answer a poll, with status 304 if the content is unchanged."""
    template = fragment(request, template, part) if part else template
    answer = render(request, template, context)
    answer.headers["ETag"] = quote_etag(sha256(answer.content).hexdigest()[:32])
    unchanged = get_conditional_response(request, etag=answer.headers["ETag"], response=answer)
    return cast("HttpResponse", unchanged)


def redirect_with_notice(
    request: HttpRequest, text: str, to: str, *, undo: str = "", **params: Any
) -> HttpResponse:
    """Display a notice on the next page; `to` is a URL, or a URL name with its parameters."""
    notify_success(request, text, undo=undo)
    answer: HttpResponse = redirect(to, **params)
    return answer


def redirect_page(
    request: WebRequest, url: str, *, notice: str = "", undo: str = ""
) -> HttpResponse:
    """Redirect the whole page, also when htmx asks for a part of it."""
    if notice:
        notify_success(request, notice, undo=undo)
    return HttpResponse(headers={"HX-Redirect": url}) if request.htmx else redirect(url)


def set_preference_cookies(
    answer: HttpResponse, *, theme: str = "", language: str = ""
) -> HttpResponse:
    """Set the cookies of the preferences that are not empty, for this browser."""
    cookies = {settings.THEME_COOKIE_NAME: theme, settings.LANGUAGE_COOKIE_NAME: language}
    for name, value in cookies.items():
        if value:
            answer.set_cookie(
                name,
                value,
                max_age=timedelta(days=365),
                httponly=True,
                samesite="Lax",
                secure=settings.LANGUAGE_COOKIE_SECURE,
            )
    return answer


def format_api_command(request: HttpRequest, url_name: str, body: str) -> str:
    """Return a command that sends `body`, a JSON text without single quotes, to the API."""
    return (
        f"curl -s {request.build_absolute_uri(reverse(url_name))} "
        "-H 'Authorization: Bearer YOUR_KEY' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )
