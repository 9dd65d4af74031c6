"""A request as our pages see it, and how they answer."""

from hashlib import sha256
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import quote_etag, url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountAccess, User

DIGITS = 19  # of the largest number that the database keeps


class WebRequest(HttpRequest):
    """Signed in, seated in one account, and htmx-aware."""

    user: User
    htmx: HtmxDetails
    access: AccountAccess
    accesses: list[AccountAccess]
    counted: dict[str, int]  # numbers beside places that the page has at hand already


def account_id_for(request: WebRequest) -> UUID:
    return request.access.account_id


def actor_for(request: WebRequest) -> Actor:
    return Actor("user", request.user.pk)


def fragment(request: WebRequest, template: str, name: str) -> str:
    """The page, or for htmx only its named part. Back and forward always want the page."""
    wants_part = request.htmx and not request.htmx.history_restore_request
    return f"{template}#{name}" if wants_part else template


def respond_unless_unchanged(request: HttpRequest, answer: HttpResponse) -> HttpResponse:
    """The answer to a poll, or 304 where the page shows exactly that already."""
    answer.headers["ETag"] = quote_etag(sha256(answer.content).hexdigest()[:32])
    known = get_conditional_response(request, etag=answer.headers["ETag"], response=answer)
    return known or answer


def parse_row_number(said: str) -> int | None:
    """A number that somebody sent, if it is one that a row can have."""
    return int(said) if said.isdecimal() and len(said) < DIGITS else None


def uuid_or_404(said: str) -> UUID:
    try:
        return UUID(said)
    except ValueError as error:
        raise Http404 from error


def post_text(request: HttpRequest, name: str, longest: int) -> str:
    """Words of a form that has no more than them; the database keeps no NUL."""
    return request.POST.get(name, "").replace("\x00", "").strip()[:longest]


def safe_next_url(request: HttpRequest, default: str) -> str:
    """Where the person came from, if that is a place of ours."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else default
