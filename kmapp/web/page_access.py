"""Access to pages: sign-in, the selected account, the role, and the account's transaction."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial, wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import list_account_access
from kmapp.accounts.permissions import Permission, Role, list_permissions, lowest_role
from kmapp.accounts.second_factor import has_second_factor
from kmapp.errors import Denied, DomainError
from kmapp.web import notices
from kmapp.web.after_commit import AfterCommit
from kmapp.web.errors import render_error
from kmapp.web.http import WebRequest, as_web_request
from kmapp.web.responses import redirect_page
from kmapp.web.time_zones import find_time_zone

View = Callable[..., HttpResponseBase]
PageView = Callable[..., HttpResponseBase | AfterCommit]
SELECTED_ACCOUNT = "account"  # session key of the selected account
READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class PageAccess:
    """Who may open a page, and who may send its forms."""

    get: Permission = Permission.READ
    post: Permission = Permission.READ
    owner: bool = False
    without_factor: bool = False


def page_view(
    *methods: str,
    needs: Permission | None = None,
    get: Permission | None = None,
    owner: bool = False,
    without_factor: bool = False,
) -> Callable[[PageView], View]:
    """Make a page for the members of an account whose role has a permission. GET includes HEAD.

    `needs`: by default READ, or EDIT for a view that accepts POST. `get`: another permission for
    opening the page. `owner`: only for the owner of the installation. `without_factor`: also for
    members without the second factor that the account requires.
    """
    only_reads = set(methods) <= set(READING)
    post = needs or (Permission.READ if only_reads else Permission.EDIT)
    access = PageAccess(get=get or post, post=post, owner=owner, without_factor=without_factor)

    def decorate(view: PageView) -> View:
        @wraps(view)
        def checked_view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not request.user.is_authenticated:
                return redirect_to_sign_in(request)
            page = partial(view, *args, **kwargs)
            return run_view(as_web_request(request), page, access)

        checked_view.access = access  # type: ignore[attr-defined]  # read by a test of all pages
        allowed = [*methods, "HEAD"] if "GET" in methods else list(methods)
        return require_http_methods(allowed)(checked_view)

    return decorate


def run_view(request: WebRequest, view: PageView, access: PageAccess) -> HttpResponseBase:
    """Run the view inside `acting` for the selected account, and render errors."""
    try:
        select_account(request)
        if not access.without_factor and _lacks_second_factor(request):
            return redirect_page(request, reverse("mfa_index"))
        _check_access(request, access)
        with timezone.override(find_time_zone(request, request.user)):
            answer = _answer(request, view)
    except DomainError as error:
        answer = render_error(request, error)
    patch_vary_headers(answer, ["HX-Request"])  # one URL returns the page or a partial
    answer.headers.setdefault("Cache-Control", "private, no-cache")
    return answer


def _check_access(request: WebRequest, access: PageAccess) -> None:
    """Raise Denied unless this person may do this."""
    if access.owner and not request.user.is_superuser:
        raise Denied(_("Only the owner of this installation can do this."))
    needed = access.get if request.method in READING else access.post
    if needed in request.permissions:
        return
    if request.access.archived_at:
        raise Denied(_("This account is archived and read-only. Nothing was changed."))
    role = lowest_role(needed)
    if role == Role.ADMIN:
        raise Denied(_("Only an admin of this account can do this."))
    text = _("This needs the role %(role)s. Ask an admin of this account.")
    raise Denied(text % {"role": role.label})


def _lacks_second_factor(request: WebRequest) -> bool:
    return request.access.require_second_factor and not has_second_factor(request.user)


def _answer(request: WebRequest, view: PageView) -> HttpResponseBase:
    with acting(request.account_id):
        answer = view(request)
    while isinstance(answer, AfterCommit):
        with nullcontext() if answer.outside_transaction else acting(request.account_id):
            answer = answer.then()
    if isinstance(answer, HttpResponse) and request.htmx:
        with acting(request.account_id):
            notices.append_notices(request, answer)
    return answer


def select_account(request: WebRequest) -> None:
    """Set the selected account, and the person as its actor, on the request."""
    request.accesses = list_account_access(request.user)
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


def redirect_to_sign_in(request: HttpRequest) -> HttpResponse:
    """Redirect to sign-in and back; for htmx, redirect the whole page."""
    request = as_web_request(request)
    if not request.htmx:
        return redirect_to_login(request.get_full_path())
    current = urlsplit(request.htmx.current_url or "/")
    login = redirect_to_login(urlunsplit(("", "", current.path, current.query, "")))
    return HttpResponse(
        status=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": login.headers["Location"]}
    )
