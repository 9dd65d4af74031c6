"""Root URL configuration. API routes are declared without a trailing slash."""

from typing import Any

from django.contrib import admin
from django.urls import include, path

from kmapp.web.error_views import handler400, handler403, handler404, handler500
from kmapp.web.error_views import too_many_requests as handler429

__all__ = ["handler400", "handler403", "handler404", "handler429", "handler500", "urlpatterns"]


def _include_app(name: str) -> tuple[Any, str | None, str | None]:
    """Include the API routes and the pages of an app in one namespace."""
    routes = [path("", include(f"{name}.api.urls")), path("", include(f"{name}.views.urls"))]
    return include((routes, name))


urlpatterns = [
    path("", include("kmapp.api.urls")),
    *(path("", _include_app(name)) for name in ("memory", "knowledge", "rules", "context")),
    path("", include("interop.urls")),
    path("", include("kmapp.web.urls")),
    path("", include("kmapp.web.identity.urls")),
    path("admin/", admin.site.urls),
]
