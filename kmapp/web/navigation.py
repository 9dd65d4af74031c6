"""Where a person can go. Places are known by URL name; one that does not exist is not shown."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.acting import current_account_id
from kmapp.accounts.models import Membership
from kmapp.web.http import WebRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One entry of the rail."""

    url_name: str
    label: str | Promise
    icon: str
    admin: bool = False  # shown to admins only
    primary: bool = False  # stays in the bar of a phone


PLACES = (
    Place(url_name="web:home", label=_("Home"), icon="house", primary=True),
    Place(url_name="memory:review", label=_("Review"), icon="inbox", primary=True),
    Place(url_name="memory:entries", label=_("Memory"), icon="brain", primary=True),
    Place(url_name="memory:topics", label=_("Topics"), icon="layers"),
    Place(url_name="memory:lab", label=_("Recall lab"), icon="flask-conical"),
    Place(url_name="knowledge:sources", label=_("Knowledge"), icon="book-open"),
    Place(url_name="knowledge:lore", label=_("Lore"), icon="book-marked"),
    Place(url_name="context:archives", label=_("Tool results"), icon="package"),
    Place(url_name="context:calls", label=_("Calls"), icon="gauge"),
    Place(url_name="rules:rules", label=_("Rules"), icon="scale"),
    Place(url_name="web:ledger", label=_("Ledger"), icon="scroll-text"),
    Place(url_name="web:operations", label=_("Operations"), icon="activity"),
    Place(url_name="memory:policy", label=_("Policy"), icon="sliders-horizontal"),
    Place(url_name="web:keys", label=_("Keys"), icon="key-round", admin=True),
    Place(url_name="web:members", label=_("Members"), icon="users", admin=True),
)

# Where the search box sends its question.
SEARCH = "memory:entries"

# What the home page is composed of: each address answers with one section.
PANELS = {
    "memory:summary": _("Needs you now"),
    "rules:summary": _("Rules"),
    "web:ledger_summary": _("Ledger"),
    "web:operations_summary": _("Operations"),
}

_COUNT_CEILING = 100
_counters: dict[str, Callable[[UUID, int], int]] = {}
Counter = Callable[[UUID, int], int]


def counter(url_name: str) -> Callable[[Counter], Counter]:
    """Put a number beside a place: how many wait there, counted no further than the limit."""

    def register(count: Counter) -> Counter:
        _counters[url_name] = count
        return count

    return register


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A place as one page shows it."""

    place: Place
    url: str
    current: bool
    count: str


def address(url_name: str) -> str | None:
    """The URL of a page of ours, or None where this installation has no such page."""
    try:
        return reverse(url_name)
    except NoReverseMatch:
        return None


def places(request: WebRequest) -> list[Shown]:
    """The rail of this person in this account."""
    is_admin = request.access.role == Membership.Role.ADMIN
    open_to_them = [place for place in PLACES if is_admin or not place.admin]
    found = [(place, url) for place in open_to_them if (url := address(place.url_name))]
    here = max((url for _, url in found if _holds(url, request.path)), key=len, default=None)
    known = {name: at_most(number) for name, number in getattr(request, "counted", {}).items()}
    return [
        Shown(
            place=place,
            url=url,
            current=url == here,
            count=known[place.url_name] if place.url_name in known else waiting(place.url_name),
        )
        for place, url in found
    ]


def _holds(url: str, path: str) -> bool:
    return path == url if url == reverse("web:home") else path.startswith(url)


def waiting(url_name: str) -> str:
    """The number beside a place, or nothing: also on an error page, which acts for no account."""
    count, account_id = _counters.get(url_name), current_account_id()
    if count is None or account_id is None:
        return ""
    return at_most(count(account_id, _COUNT_CEILING))


def at_most(number: int) -> str:
    """A number beside a place as it is written there; nothing for none."""
    return f"{_COUNT_CEILING - 1}+" if number >= _COUNT_CEILING else str(number or "")
