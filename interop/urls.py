"""Routes of all protocols."""

from django.urls import include, path

from interop import pages

app_name = "interop"
urlpatterns = [
    path("connect/", pages.connect, name="connect"),
    path("connect/<uuid:pk>/first-call/", pages.first_call, name="first_call"),
    path("", include("interop.hindsight.urls")),
    path("", include("interop.langgraph.urls")),
    path("", include("interop.mem0.urls")),
]
