"""A request as our pages see it, and how they answer."""

from uuid import UUID

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme
from django_htmx.middleware import HtmxDetails

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, Seat, User


class WebRequest(HttpRequest):
    """Signed in, seated in one account, and htmx-aware."""

    user: User
    htmx: HtmxDetails
    seat: Seat
    seats: list[Seat]


def account_id_for(request: WebRequest) -> UUID:
    return request.seat.account_id


def account_for(request: WebRequest) -> Account:
    return Account.objects.get(pk=request.seat.account_id)


def actor_for(request: WebRequest) -> Actor:
    return Actor("user", request.user.pk)


def fragment(request: WebRequest, template: str, name: str) -> str:
    """The page, or for htmx only its named part. Back and forward always want the page."""
    wants_part = request.htmx and not request.htmx.history_restore_request
    return f"{template}#{name}" if wants_part else template


def back_to(request: HttpRequest, default: str) -> str:
    """Where the person came from, if that is a place of ours."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return wanted if safe else default
