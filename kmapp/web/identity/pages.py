"""Views of allauth as pages of kmapp, with its frame, permissions and statuses."""

from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.template.response import SimpleTemplateResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from kmapp.errors import DomainError
from kmapp.web.errors import render_error
from kmapp.web.page_access import View

METHODS = ["GET", "HEAD", "POST"]


def public_page(view: View) -> View:
    """Make a page for people who are not signed in."""

    @sensitive_post_parameters()
    @never_cache
    @require_http_methods(METHODS)
    def page(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            return _render(view(request, *args, **kwargs))
        except DomainError as error:
            return render_error(request, error)

    return page


def _render(answer: HttpResponseBase) -> HttpResponseBase:
    """Render a template response, with status 422 if it shows an invalid form."""
    if not isinstance(answer, SimpleTemplateResponse):
        return answer
    form = (answer.context_data or {}).get("form")
    if form is not None and form.errors:
        answer.status_code = HTTPStatus.UNPROCESSABLE_ENTITY
    return answer.render()
