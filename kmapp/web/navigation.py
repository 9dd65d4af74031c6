"""The navigation. Items refer to pages by URL name; a page that does not exist is left out."""

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
class NavItem:
    url_name: str
    label: str | Promise
    icon: str
    admin: bool = False  # visible to admins only
    primary: bool = False  # stays in the bar on a phone


NAV_ITEMS = (
    NavItem(url_name="web:home", label=_("Home"), icon="house", primary=True),
    NavItem(url_name="memory:review", label=_("Review"), icon="inbox", primary=True),
    NavItem(url_name="memory:entries", label=_("Memory"), icon="brain", primary=True),
    NavItem(url_name="memory:topics", label=_("Topics"), icon="layers"),
    NavItem(url_name="memory:lab", label=_("Recall lab"), icon="flask-conical"),
    NavItem(url_name="knowledge:sources", label=_("Knowledge"), icon="book-open"),
    NavItem(url_name="knowledge:lore", label=_("Lore"), icon="book-marked"),
    NavItem(url_name="context:archives", label=_("Tool results"), icon="package"),
    NavItem(url_name="context:calls", label=_("Calls"), icon="gauge"),
    NavItem(url_name="rules:rules", label=_("Rules"), icon="scale"),
    NavItem(url_name="web:ledger", label=_("Ledger"), icon="scroll-text"),
    NavItem(url_name="web:operations", label=_("Operations"), icon="activity"),
    NavItem(url_name="memory:policy", label=_("Policy"), icon="sliders-horizontal"),
    NavItem(url_name="interop:connect", label=_("Connect an agent"), icon="plug"),
    NavItem(url_name="web:keys", label=_("API keys"), icon="key-round", admin=True),
    NavItem(url_name="web:members", label=_("Members"), icon="users", admin=True),
)

# The page that the search box queries.
SEARCH = "memory:entries"

# The sections of the home page, each loaded from its own URL.
HOME_PANELS = {
    "memory:summary": _("Needs attention"),
    "rules:summary": _("Rules"),
    "web:ledger_summary": _("Ledger"),
    "web:operations_summary": _("Operations"),
}

_COUNT_CEILING = 100
_counters: dict[str, Callable[[UUID, int], int]] = {}
Counter = Callable[[UUID, int], int]


def count_badge(url_name: str) -> Callable[[Counter], Counter]:
    """Register the count of an item's badge. It receives the account and the count's limit."""

    def register(count: Counter) -> Counter:
        _counters[url_name] = count
        return count

    return register


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleNavItem:
    item: NavItem
    url: str
    current: bool
    count: str


def find_url(url_name: str) -> str | None:
    try:
        return reverse(url_name)
    except NoReverseMatch:
        return None


def list_nav_items(request: WebRequest) -> list[VisibleNavItem]:
    """Return the navigation of this person in this account."""
    is_admin = request.access.role == Membership.Role.ADMIN
    allowed = [item for item in NAV_ITEMS if is_admin or not item.admin]
    items = [(item, url) for item in allowed if (url := find_url(item.url_name))]
    current = max((url for _, url in items if _contains(url, request.path)), key=len, default=None)
    loaded = {
        name: format_count(number) for name, number in getattr(request, "counted", {}).items()
    }
    return [
        VisibleNavItem(
            item=item,
            url=url,
            current=url == current,
            count=loaded[item.url_name] if item.url_name in loaded else badge_count(item.url_name),
        )
        for item, url in items
    ]


def _contains(url: str, path: str) -> bool:
    return path == url if url == reverse("web:home") else path.startswith(url)


def badge_count(url_name: str) -> str:
    """Return the badge of an item; empty on error pages, which act for no account."""
    count, account_id = _counters.get(url_name), current_account_id()
    if count is None or account_id is None:
        return ""
    return format_count(count(account_id, _COUNT_CEILING))


def format_count(number: int) -> str:
    """Format a badge's count; empty for none."""
    return f"{_COUNT_CEILING - 1}+" if number >= _COUNT_CEILING else str(number or "")
