"""The stock admin, for one account at a time: staff enter it like any page, seated and `acting`."""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from django.contrib import admin
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from kmapp.accounts.models import Membership
from kmapp.errors import Denied
from kmapp.web.after_commit import AfterCommit, AfterCommitResponse
from kmapp.web.errors import refuse
from kmapp.web.http import WebRequest, safe_next_url
from kmapp.web.page_access import enter
from kmapp.web.views.session import sign_out

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class Site(admin.AdminSite):
    """Rows of the account chosen in the header; signing in is the product's own page."""

    site_header = "kmapp"
    site_title = "kmapp"
    index_title = gettext_lazy("Tables")

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # noqa: FBT001, FBT002 - Django's
        """Staff only. A person who is signed in and is not staff is told so."""
        guarded = super().admin_view(_run_in_account(view), cacheable)

        @wraps(view)
        def staff_only(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.user.is_authenticated and not self.has_permission(request):
                return refuse(request, Denied(_("Only staff may enter the admin pages.")))
            return guarded(request, *args, **kwargs)

        return cast("View", staff_only)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """There is one way to sign in, and it is slowed down for those who guess."""
        wanted = safe_next_url(request, reverse("admin:index"))
        return redirect(wanted) if request.user.is_authenticated else redirect_to_login(wanted)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """And one way out."""
        return sign_out(request)


def _run_in_account(view: View) -> View:
    @wraps(view)
    def run_in_account(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        def render_inside(page_request: WebRequest) -> HttpResponseBase | AfterCommit:
            answer = view(page_request, *args, **kwargs)
            if isinstance(answer, AfterCommitResponse):
                return answer.after_commit
            # Its rows are read while it is written: here, not after we have left the account.
            return answer.render() if isinstance(answer, SimpleTemplateResponse) else answer

        return enter(cast("WebRequest", request), render_inside, roles=set(Membership.Role))

    return cast("View", run_in_account)
