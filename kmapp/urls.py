"""Every address, by app. API routes are declared without a last slash."""

from django.contrib import admin
from django.urls import include, path

from kmapp.refusals import handler400, handler403, handler404, handler500

__all__ = ["handler400", "handler403", "handler404", "handler500", "urlpatterns"]

urlpatterns = [
    path("", include("kmapp.api.urls")),
    path("", include("memory.urls")),
    path("", include("knowledge.urls")),
    path("", include("rules.urls")),
    path("", include("context.urls")),
    path("", include("kmapp.web.urls")),
    path("admin/", admin.site.urls),
]
