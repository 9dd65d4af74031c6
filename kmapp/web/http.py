"""The request of a page, and helpers for its parameters."""

from datetime import UTC, datetime
from typing import Any, TypeVar, cast
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.http import Http404, HttpRequest
from django.shortcuts import get_object_or_404
from django.urls import Resolver404, resolve
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django_htmx.middleware import HtmxDetails

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountAccess, AccountOwned, User
from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.web.identity.company_session import CompanySession

M = TypeVar("M", bound=AccountOwned)
MAX_DIGITS = 19  # of the largest bigint
MAX_REASON_LENGTH = 500
PAGE_SIZE = 50


class WebRequest(HttpRequest):
    """A request of a signed-in person in one account, with htmx details."""

    user: User
    htmx: HtmxDetails
    access: AccountAccess
    accesses: list[AccountAccess]
    company: CompanySession | None
    may_change_login: bool
    account_id: UUID
    actor: Actor
    permissions: frozenset[Permission]
    counted: dict[str, int]  # badge counts that the page has already loaded


def as_web_request(request: HttpRequest) -> WebRequest:
    """Return the request as the type that `page_access.run_view` makes of it."""
    return cast("WebRequest", request)


def get_row_or_404(request: WebRequest, model: type[M], pk: UUID) -> M:
    return get_object_or_404(model, account_id=request.account_id, pk=pk)


def paginate(request: HttpRequest, rows: Any, size: int = PAGE_SIZE) -> Page[Any]:
    return Paginator(rows, size).get_page(request.GET.get("page"))


def parse_row_number(text: str) -> int | None:
    """Return a number from a request, or None if no row can have it."""
    return int(text) if text.isdecimal() and len(text) < MAX_DIGITS else None


def format_cursor(moment: datetime, pk: UUID) -> str:
    """Return the address parameter of the page that follows a row."""
    return f"{moment.isoformat()}~{pk}"


def parse_cursor(text: str) -> tuple[datetime, UUID] | None:
    """Parse a cursor of `format_cursor`, or return None."""
    moment, _tilde, pk = text.partition("~")
    try:
        when = datetime.fromisoformat(moment)
        # In UTC, because the database refuses some offsets, such as +20:00.
        return (when.astimezone(UTC), UUID(pk)) if when.tzinfo else None
    except (ValueError, OverflowError):
        return None


def uuid_or_404(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as error:
        raise Http404 from error


def post_text(request: HttpRequest, name: str, max_length: int) -> str:
    """Return a text of a form, without NUL, which PostgreSQL cannot store."""
    return request.POST.get(name, "").replace("\x00", "").strip()[:max_length]


def parse_reason(request: HttpRequest) -> str:
    """Return the reason that a person gave for a change; the ledger records it."""
    return post_text(request, "reason", MAX_REASON_LENGTH)


def parse_version(text: str) -> int:
    """Return the version of the row that the person saw."""
    version = parse_row_number(text)
    if version is None:
        raise Invalid(_("The version number is missing. Reload the page and decide again."))
    return version


def safe_next_url(request: HttpRequest, default: str) -> str:
    url = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        url, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return url if safe else default


def find_page_url(request: HttpRequest) -> str:
    """Return the URL of this page, or of the page above an address that only receives forms."""
    if request.method in ("GET", "HEAD") or _is_page(request.path):
        return request.get_full_path()
    if request.resolver_match is None:
        return "/"  # an unknown address can have thousands of parts, and each is looked up
    path = request.path
    while path != "/" and not _is_page(path):
        path = path[: path.rstrip("/").rfind("/") + 1] or "/"
    return path


def _is_page(path: str) -> bool:
    try:
        return bool(getattr(resolve(path).func, "is_page", True))
    except Resolver404:
        return False
