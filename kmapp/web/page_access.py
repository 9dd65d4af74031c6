"""How a person enters an account: signed in, seated, acting for it until the page is written."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial, wraps
from http import HTTPStatus
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.models import AccountAccess, Membership, list_account_access
from kmapp.errors import Denied, DomainError
from kmapp.web import notices
from kmapp.web.after_commit import AfterCommit
from kmapp.web.errors import refuse
from kmapp.web.http import WebRequest

View = Callable[..., HttpResponseBase]
PageView = Callable[..., HttpResponseBase | AfterCommit]
SELECTED_ACCOUNT = "account"  # the session's word for the account a person works in


def reviewer_required(view: PageView) -> View:
    """Any member of the account."""
    return _guarded(view, roles={Membership.Role.REVIEWER, Membership.Role.ADMIN})


def admin_required(view: PageView) -> View:
    """Its admins."""
    return _guarded(view, roles={Membership.Role.ADMIN})


def _guarded(view: PageView, *, roles: set[Membership.Role]) -> View:
    @wraps(view)
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _to_sign_in(request)
        return enter(cast("WebRequest", request), partial(view, *args, **kwargs), roles=roles)

    guarded.roles = roles  # type: ignore[attr-defined]  # a test asks every page who may enter
    return guarded


def enter(request: WebRequest, view: PageView, *, roles: set[Membership.Role]) -> HttpResponseBase:
    """Run the view for the account the person chose, and render its answer before leaving."""
    try:
        select_account(request)
        if request.access.role not in roles:
            raise Denied(_("Only an admin of this account may do that."))
        answer = _answer(request, view)
    except DomainError as error:
        answer = refuse(request, error)
    patch_vary_headers(answer, ["HX-Request"])  # one address answers with a page or with its part
    answer.headers.setdefault("Cache-Control", "private, no-cache")
    return answer


def _answer(request: WebRequest, view: PageView) -> HttpResponseBase:
    with acting(request.access.account_id):
        answer = view(request)
    while isinstance(answer, AfterCommit):
        with nullcontext() if answer.outside_transaction else acting(request.access.account_id):
            answer = answer.then()
    if isinstance(answer, HttpResponse) and request.htmx:
        with acting(request.access.account_id):
            notices.append(request, answer)
    return answer


def select_account(request: WebRequest) -> None:
    request.accesses = list_account_access(request.user)
    if not request.accesses:
        raise Denied(_("You are not a member of any account. Ask an admin to add you."))
    request.access = _chosen(request.accesses, request.session.get(SELECTED_ACCOUNT))


def _chosen(accesses: list[AccountAccess], wanted: str | None) -> AccountAccess:
    return next((access for access in accesses if str(access.account_id) == wanted), accesses[0])


def _to_sign_in(request: HttpRequest) -> HttpResponse:
    """A page asks to sign in and come back; a part of a page sends the whole page there."""
    request = cast("WebRequest", request)
    if not request.htmx:
        return redirect_to_login(request.get_full_path())
    here = urlsplit(request.htmx.current_url or "/")
    login = redirect_to_login(urlunsplit(("", "", here.path, here.query, "")))
    return HttpResponse(
        status=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": login.headers["Location"]}
    )
