"""The Django admin site, for one account at a time."""

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

from kmapp.errors import Denied
from kmapp.web.after_commit import AfterCommit, AfterCommitResponse
from kmapp.web.error_views import render_error
from kmapp.web.http import WebRequest, as_web_request, safe_next_url
from kmapp.web.page_access import PageAccess, run_view
from kmapp.web.views.sign_in import sign_out

View = TypeVar("View", bound=Callable[..., HttpResponseBase])


class Site(admin.AdminSite):
    """A site for the rows of the selected account, with the product's own sign-in page."""

    site_header = "kmapp"
    site_title = "kmapp"
    index_title = gettext_lazy("Tables")

    def admin_view(self, view: View, cacheable: bool = False) -> View:  # noqa: FBT001, FBT002 - Django's
        """Require staff; render an error for other signed-in people."""
        checked_view = super().admin_view(_wrap_in_account(view), cacheable)

        @wraps(view)
        def staff_only(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if request.user.is_authenticated and not self.has_permission(request):
                return render_error(request, Denied(_("Only staff can open the admin pages.")))
            return checked_view(request, *args, **kwargs)

        return cast("View", staff_only)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Redirect to the sign-in page, which throttles guesses."""
        next_url = safe_next_url(request, reverse("admin:index"))
        return redirect(next_url) if request.user.is_authenticated else redirect_to_login(next_url)

    def logout(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return sign_out(request)


def _wrap_in_account(view: View) -> View:
    @wraps(view)
    def run_in_account(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        def render_inside(page_request: WebRequest) -> HttpResponseBase | AfterCommit:
            answer = view(page_request, *args, **kwargs)
            if isinstance(answer, AfterCommitResponse):
                return answer.after_commit
            # Rendering reads rows, so it must happen inside the account's transaction.
            return answer.render() if isinstance(answer, SimpleTemplateResponse) else answer

        return run_view(as_web_request(request), render_inside, PageAccess())

    return cast("View", run_in_account)
