"""The request of a page, and helpers for its parameters and its response."""

from hashlib import sha256
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag, url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountAccess, User

MAX_DIGITS = 19  # of the largest bigint


class WebRequest(HttpRequest):
    """A request of a signed-in person in one account, with htmx details."""

    user: User
    htmx: HtmxDetails
    access: AccountAccess
    accesses: list[AccountAccess]
    counted: dict[str, int]  # badge counts that the page has already loaded


def account_id_for(request: WebRequest) -> UUID:
    return request.access.account_id


def actor_for(request: WebRequest) -> Actor:
    return Actor("user", request.user.pk)


def fragment(request: WebRequest, template: str, name: str) -> str:
    """Return the template, or for htmx its named partial. History navigation needs the page."""
    wants_part = request.htmx and not request.htmx.history_restore_request
    return f"{template}#{name}" if wants_part else template


def respond_unless_unchanged(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """Return the answer to a poll, or 304 if its content is unchanged."""
    answer.headers["ETag"] = quote_etag(sha256(answer.content).hexdigest()[:32])
    unchanged = get_conditional_response(request, etag=answer.headers["ETag"], response=answer)
    return unchanged or answer


def parse_row_number(text: str) -> int | None:
    """Return a number from a request, or None if no row can have it."""
    return int(text) if text.isdecimal() and len(text) < MAX_DIGITS else None


def uuid_or_404(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404 from error


def post_text(request: HttpRequest, name: str, max_length: int) -> str:
    """Return a text of a form, without NUL, which PostgreSQL cannot store."""
    return request.POST.get(name, "").replace("\x00", "").strip()[:max_length]


def safe_next_url(request: HttpRequest, default: str) -> str:
    """Return the requested next URL if it is on this host."""
    url = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if safe else default
