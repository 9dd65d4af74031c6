"""The navigation. Items refer to pages by URL name; a page that does not exist is left out."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.urls import NoReverseMatch, reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.permissions import Permission
from kmapp.web.badge_counts import load_counts
from kmapp.web.http import WebRequest

# Names of the groups that this browser has collapsed, separated by dots. The script of the page
# sets it; the server reads it, so that a page does not change after it is shown.
COLLAPSED_COOKIE = "kmapp_nav"


@dataclass(frozen=True, slots=True, kw_only=True)
class NavItem:
    """A link. One with sub-pages opens the first of them; each of them shows all as tabs."""

    label: str | Promise
    icon: str
    url_name: str = ""
    needs: Permission = Permission.READ
    owner: bool = False  # for the owner of the installation only
    primary: bool = False  # stays in the bar on a phone
    pages: tuple["NavItem", ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NavGroup:
    """Items under a heading that can be collapsed; the first group has none."""

    name: str
    label: str | Promise = ""
    items: tuple[NavItem, ...]


# The number of unread notifications is displayed beside the title of each page.
NOTIFICATIONS = "web:notifications"

SETTINGS_PAGES = (
    NavItem(url_name="memory:policy", label=_("Policy"), icon="sliders-horizontal"),
    NavItem(url_name="web:keys", label=_("API keys"), icon="key-round", needs=Permission.KEYS),
    NavItem(url_name="web:webhooks", label=_("Webhooks"), icon="route", needs=Permission.KEYS),
    NavItem(url_name="web:members", label=_("Members"), icon="users", needs=Permission.MEMBERS),
    NavItem(
        url_name="web:company_sign_in",
        label=_("Company sign-in"),
        icon="shield-check",
        needs=Permission.MEMBERS,
    ),
    NavItem(url_name="web:accounts", label=_("Accounts"), icon="building-2", owner=True),
    NavItem(url_name="web:notification_settings", label=_("Notifications"), icon="bell"),
    NavItem(url_name="interop:connect", label=_("Connect an agent"), icon="plug"),
)
NAV_GROUPS = (
    NavGroup(
        name="review",
        items=(
            NavItem(url_name="web:home", label=_("Home"), icon="house", primary=True),
            NavItem(url_name="memory:review", label=_("Review"), icon="inbox", primary=True),
        ),
    ),
    NavGroup(
        name="knowledge",
        label=_("Knowledge base"),
        items=(
            NavItem(url_name="memory:entries", label=_("Memory"), icon="brain", primary=True),
            NavItem(url_name="memory:topics", label=_("Topics"), icon="layers"),
            NavItem(url_name="knowledge:sources", label=_("Documents"), icon="book-open"),
            NavItem(url_name="knowledge:lore", label=_("Lore"), icon="book-marked"),
        ),
    ),
    NavGroup(
        name="agents",
        label=_("Agents"),
        items=(
            NavItem(url_name="context:sessions", label=_("Sessions"), icon="route"),
            NavItem(url_name="context:calls", label=_("Calls"), icon="gauge"),
            NavItem(url_name="context:archives", label=_("Tool results"), icon="package"),
            NavItem(url_name="rules:rules", label=_("Rules"), icon="scale"),
            NavItem(url_name="memory:lab", label=_("Recall lab"), icon="flask-conical"),
        ),
    ),
    NavGroup(
        name="administration",
        label=_("Administration"),
        items=(
            NavItem(url_name="web:ledger", label=_("Ledger"), icon="scroll-text"),
            NavItem(url_name="web:operations", label=_("Operations"), icon="activity"),
            NavItem(label=_("Settings"), icon="settings", pages=SETTINGS_PAGES),
        ),
    ),
)

# Pages that are not in the sidebar, and actions. The search over everything finds them by name.
OTHER_PAGES = (
    NavItem(url_name="rules:new", label=_("New rule"), icon="plus", needs=Permission.EDIT),
    NavItem(url_name="rules:decisions", label=_("Decisions of rules"), icon="list-checks"),
    NavItem(url_name="rules:conflicts", label=_("Conflicts between rules"), icon="split"),
    NavItem(url_name="rules:feedback", label=_("Feedback"), icon="thumbs-up"),
    NavItem(url_name="rules:book", label=_("Evidence gate"), icon="shield"),
    NavItem(url_name="memory:ranking", label=_("Learned rankings"), icon="git-compare"),
    NavItem(url_name="knowledge:documents", label=_("All documents"), icon="files"),
    NavItem(
        url_name="knowledge:write", label=_("New document"), icon="pencil", needs=Permission.EDIT
    ),
    NavItem(
        url_name="knowledge:upload", label=_("Upload files"), icon="upload", needs=Permission.EDIT
    ),
    NavItem(url_name="knowledge:failures", label=_("Failed documents"), icon="circle-alert"),
    NavItem(url_name="knowledge:comparison", label=_("Variant comparison"), icon="columns-3"),
    NavItem(
        url_name="knowledge:lore_new", label=_("New lorebook"), icon="plus", needs=Permission.EDIT
    ),
    NavItem(url_name="knowledge:bench", label=_("Test bench of lore"), icon="play"),
    NavItem(url_name="context:costs", label=_("Call costs"), icon="chart-column"),
    NavItem(url_name="context:comparisons", label=_("Call comparisons"), icon="git-compare"),
    NavItem(url_name="context:compare", label=_("Compare policies"), icon="git-compare"),
    NavItem(url_name="context:variants", label=_("Call variants"), icon="split"),
    NavItem(url_name="context:settings", label=_("Call settings"), icon="settings"),
    NavItem(url_name="context:keeping", label=_("Tool result retention"), icon="clock"),
    NavItem(
        url_name="web:key_issue", label=_("Create an API key"), icon="plus", needs=Permission.KEYS
    ),
    NavItem(
        url_name="web:keys",
        label=_("Rotate or revoke an API key"),
        icon="key-round",
        needs=Permission.KEYS,
    ),
    NavItem(url_name="web:roles", label=_("What each role may do"), icon="shield-check"),
    NavItem(
        url_name="web:invite", label=_("Invite a person"), icon="plus", needs=Permission.MEMBERS
    ),
    NavItem(
        url_name="web:member_add", label=_("Add a member"), icon="plus", needs=Permission.MEMBERS
    ),
    NavItem(url_name="web:demo", label=_("Demo data"), icon="database", needs=Permission.OPERATE),
    NavItem(url_name=NOTIFICATIONS, label=_("My notifications"), icon="bell"),
    NavItem(url_name="web:time_zone", label=_("Time zone"), icon="clock"),
    NavItem(url_name="web:password", label=_("Change password"), icon="lock"),
    NavItem(url_name="api:docs", label=_("API documentation"), icon="file-text"),
)

# The page of a session; its address has the run as a parameter.
SESSION = "context:session"

# The sections of the home page, each loaded from its own URL.
HOME_PANELS = {
    "memory:summary": _("Needs attention"),
    "knowledge:summary": _("Documents"),
    "rules:summary": _("Rules"),
    "web:ledger_summary": _("Ledger"),
    "web:operations_summary": _("Operations"),
}


@dataclass(slots=True, kw_only=True)
class VisibleNavItem:
    item: NavItem
    url: str
    pages: list["VisibleNavItem"] = field(default_factory=list)
    current: bool = False
    count: str = ""


@dataclass(slots=True, kw_only=True)
class VisibleNavGroup:
    group: NavGroup
    items: list[VisibleNavItem]
    is_open: bool

    @property
    def secondary(self) -> list[VisibleNavItem]:
        """Return the items that a phone shows in its menu."""
        return [entry for entry in self.items if not entry.item.primary]


@dataclass(frozen=True, slots=True, kw_only=True)
class Navigation:
    """The navigation of a person in an account, on one page."""

    groups: list[VisibleNavGroup]
    unread: str = ""  # notifications

    @property
    def primary(self) -> list[VisibleNavItem]:
        return [entry for group in self.groups for entry in group.items if entry.item.primary]

    @property
    def section(self) -> VisibleNavItem | None:
        """Return the current item if it has sub-pages."""
        entries = (entry for group in self.groups for entry in group.items)
        return next((entry for entry in entries if entry.current and entry.pages), None)


def find_url(url_name: str) -> str | None:
    try:
        return reverse(url_name)
    except NoReverseMatch:
        return None


def build_navigation(request: WebRequest) -> Navigation:
    """Return the navigation, with the item of this page marked as current."""
    collapsed = request.COOKIES.get(COLLAPSED_COOKIE, "").split(".")
    groups = [
        VisibleNavGroup(
            group=group,
            items=list(_list_visible(request, group.items)),
            is_open=group.name not in collapsed,
        )
        for group in NAV_GROUPS
    ]
    groups = [group for group in groups if group.items]
    items = [entry for group in groups for entry in group.items]
    _mark_current(items, request.path)
    counts = load_counts(request)
    for entry in items:
        entry.count = counts.get(entry.item.url_name, "")
    return Navigation(groups=groups, unread=counts.get(NOTIFICATIONS, ""))


def list_pages(request: WebRequest) -> list[VisibleNavItem]:
    """Return all pages and actions that this person can open by name."""
    items = [item for group in NAV_GROUPS for item in group.items]
    pages = [page for item in items for page in item.pages or (item,)]
    return list(_list_visible(request, [*pages, *OTHER_PAGES]))


def _list_visible(request: WebRequest, items: Iterable[NavItem]) -> Iterable[VisibleNavItem]:
    for item in items:
        pages = list(_list_visible(request, item.pages))
        url = pages[0].url if pages else find_url(item.url_name)
        is_allowed = item.needs in request.permissions
        if url and is_allowed and (request.user.is_superuser or not item.owner):
            yield VisibleNavItem(item=item, url=url, pages=pages)


def _mark_current(items: list[VisibleNavItem], path: str) -> None:
    """Mark the page with the longest URL that contains this path, and the item above it."""
    chains = [[entry, page] for entry in items for page in entry.pages]
    chains += [[entry] for entry in items if not entry.pages]
    containing = [chain for chain in chains if _contains(chain[-1].url, path)]
    for entry in max(containing, key=lambda chain: len(chain[-1].url), default=[]):
        entry.current = True


def _contains(url: str, path: str) -> bool:
    return path == url if url == reverse("web:home") else path.startswith(url)
