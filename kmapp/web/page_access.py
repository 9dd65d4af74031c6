"""Access to pages: sign-in, the selected account, the role, and the account's transaction."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import list_account_access
from kmapp.accounts.permissions import Permission, Role, find_lowest_role, list_permissions
from kmapp.accounts.second_factor import has_second_factor
from kmapp.errors import Conflict, Denied, DomainError, NotFound
from kmapp.notifications.notification_line import ACCOUNT_PARAMETER
from kmapp.web import success_messages
from kmapp.web.after_commit import AfterCommit
from kmapp.web.error_views import method_not_allowed, render_error, signed_out
from kmapp.web.http import WebRequest, as_web_request
from kmapp.web.identity.company_session import find_company_session
from kmapp.web.responses import redirect_page
from kmapp.web.time_zones import find_time_zone

View = Callable[..., HttpResponseBase]
PageView = Callable[..., HttpResponseBase | AfterCommit]
SELECTED_ACCOUNT = "account"  # session key of the selected account
PAGE_ACCOUNT = "page_account"  # field of a form: the account that its page shows
PAGE_ACCOUNT_HEADER = "X-Page-Account"  # the same of requests by scripts
READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAccess:
    """Who may open a page, and who may send its forms."""

    get: Permission = Permission.READ
    post: Permission = Permission.READ
    owner: bool = False
    without_factor: bool = False
    own_login: bool = False


def page_view(
    *methods: str,
    needs: Permission | None = None,
    get: Permission | None = None,
    owner: bool = False,
    without_factor: bool = False,
    own_login: bool = False,
) -> Callable[[PageView], View]:
    """Make a page for the members of an account whose role has a permission. GET includes HEAD.

    `needs`: by default READ, or EDIT for a view that accepts POST. `get`: another permission for
    opening the page. `owner`: only for the owner of the installation. `without_factor`: also for
    members without the company sign-in or the second factor that the account requires. `own_login`:
    shows or changes how the person signs in.
    """
    only_reads = set(methods) <= set(READING)
    post = needs or (Permission.READ if only_reads else Permission.EDIT)
    access = PageAccess(
        get=get or post, post=post, owner=owner, without_factor=without_factor, own_login=own_login
    )

    allowed = [*methods, "HEAD"] if "GET" in methods else list(methods)

    def decorate(view: PageView) -> View:
        @wraps(view)
        def checked_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.method not in allowed:
                return method_not_allowed(request, allowed)
            if not request.user.is_authenticated:
                return redirect_to_sign_in(request)
            page = partial(view, *args, **kwargs)
            return run_view(as_web_request(request), page, access)

        checked_view.access = access  # type: ignore[attr-defined]  # read by a test of all pages
        checked_view.is_page = "GET" in methods  # type: ignore[attr-defined]  # see find_page_url
        return checked_view

    return decorate


def run_view(request: WebRequest, view: PageView, access: PageAccess) -> HttpResponseBase:
    """Run the view inside `acting` for the selected account, and render errors."""
    try:
        select_account(request)
        if page := _open_linked_account(request):
            return redirect_page(request, page)
        # Pages about the person or the installation do not depend on the selected account.
        if not (access.without_factor or access.own_login or access.owner):
            _check_page_account(request)
        if not access.without_factor and (missing := _find_missing_step(request)):
            return redirect_page(request, missing)
        _check_access(request, access)
        with timezone.override(find_time_zone(request, request.user)):
            answer = _run_in_transaction(request, view)
    except DomainError as error:
        answer = render_error(request, error)
    patch_vary_headers(answer, ["HX-Request"])  # one URL returns the page or a partial
    answer.headers.setdefault("Cache-Control", "private, no-cache")
    return answer


def _check_access(request: WebRequest, access: PageAccess) -> None:
    """Raise Denied unless this person may do this."""
    if access.owner and not request.user.is_superuser:
        raise Denied(_("Only the owner of this installation can do this."))
    if access.own_login and not request.may_change_login:
        raise Denied(
            _(
                "You signed in through your company, which opens one account. To see or change "
                "how you sign in elsewhere, sign in with your password or passkey."
            )
        )
    require_permission(request, access.get if request.method in READING else access.post)


def require_permission(request: WebRequest, needed: Permission) -> None:
    """Raise Denied, with the role that is needed, unless the person's role has a permission."""
    if needed in request.permissions:
        return
    if request.access.archived_at:
        raise Denied(_("This account is archived and read-only. Nothing was changed."))
    role = find_lowest_role(needed)
    if role == Role.ADMIN:
        raise Denied(_("Only an admin of this account can do this."))
    text = _("This needs the role %(role)s. Ask an admin of this account.")
    raise Denied(text % {"role": role.label})


def _check_page_account(request: WebRequest) -> None:
    """Raise Conflict if the page shows another account, because a second tab has switched."""
    page_account = request.headers.get(PAGE_ACCOUNT_HEADER) or request.POST.get(PAGE_ACCOUNT)
    if not page_account or page_account == str(request.account_id):
        return
    names = {str(access.account_id): access.name for access in request.accesses}
    text = _(
        "This page shows %(shown)s, but you now work in %(current)s. Nothing was changed. Open "
        "the page again, or switch back to %(shown)s and try again."
    )
    page_name = names.get(page_account, _("another account"))
    raise Conflict(text % {"shown": page_name, "current": request.access.name})


def _find_missing_step(request: WebRequest) -> str:
    """Return the page of the sign-in step that the account requires and the session lacks."""
    access, company = request.access, request.company
    is_from_company = company is not None and company.account_id == access.account_id
    # The owner of the installation can enter when the provider fails.
    if access.requires_company_sign_in and not is_from_company and not request.user.is_superuser:
        step = reverse("company_start", args=[access.slug])
        return f"{step}?{urlencode({'next': _find_return_url(request)})}"
    is_checked = company is not None and is_from_company and company.checks_second_factor
    if access.require_second_factor and not is_checked and not has_second_factor(request.user):
        return reverse("mfa_index")
    return ""


def _run_in_transaction(request: WebRequest, view: PageView) -> HttpResponseBase:
    with acting(request.account_id):
        answer = view(request)
    while isinstance(answer, AfterCommit):
        with nullcontext() if answer.outside_transaction else acting(request.account_id):
            answer = answer.then()
    if isinstance(answer, HttpResponse) and request.htmx:
        with acting(request.account_id):
            success_messages.append_notices(request, answer)
    return answer


def select_account(request: WebRequest) -> None:
    """Set the selected account, and the person as its actor, on the request."""
    accesses = list_account_access(request.user)
    request.company = company = find_company_session(request.session, request.user)
    request.accesses = company.select(request.user, accesses) if company else accesses
    request.may_change_login = not company or company.may_change_login(request.user, accesses)
    if not request.accesses:
        raise Denied(_("You are not a member of any account. Ask an admin to add you."))
    selected = request.session.get(SELECTED_ACCOUNT)
    in_use = [access for access in request.accesses if not access.archived_at]
    request.access = next(
        (access for access in request.accesses if str(access.account_id) == selected),
        (in_use or request.accesses)[0],
    )
    request.account_id = request.access.account_id
    request.actor = Actor("user", request.user.pk)
    request.permissions = list_permissions(request.access)


def _open_linked_account(request: WebRequest) -> str:
    """Select the account that the link of a message names, and return the URL of the page."""
    linked = request.GET.get(ACCOUNT_PARAMETER) if request.method in READING else None
    if linked is None:
        return ""
    if linked not in {str(access.account_id) for access in request.accesses}:
        raise NotFound(_("This link is to an account of which you are not a member."))
    request.session[SELECTED_ACCOUNT] = linked
    query = request.GET.copy()
    del query[ACCOUNT_PARAMETER]
    return f"{request.path}?{query.urlencode()}" if query else request.path


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to sign-in and back to the page; for htmx, redirect the whole page.

    A page whose form was sent by htmx stays, because a redirect would discard what was typed.
    """
    request = as_web_request(request)
    if request.htmx and request.method not in READING:
        return signed_out(request)
    if request.htmx:
        login = redirect_to_login(_find_path(request.htmx.current_url))
        return HttpResponse(
            status=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": login.headers["Location"]}
        )
    if request.method in READING:
        return redirect_to_login(request.get_full_path())
    return redirect_to_login(_find_path(request.headers.get("Referer")))  # the page with the form


def _find_return_url(request: WebRequest) -> str:
    """Return the page to open after a step of the sign-in; for htmx, the page that has the part."""
    if request.htmx:
        return _find_path(request.htmx.current_url)
    return request.get_full_path() if request.method in READING else reverse("web:home")


def _find_path(url: str | None) -> str:
    """Return the path and the query of a page of this site, or the home page."""
    try:
        page = urlsplit(url or "/")
    except ValueError:
        return reverse("web:home")
    return urlunsplit(("", "", page.path, page.query, ""))
