"""Routes of all protocols."""

from django.urls import include, path

from interop import connect_page

app_name = "interop"
urlpatterns = [
    path("connect/", connect_page.connect, name="connect"),
    path("connect/<uuid:pk>/first-call/", connect_page.first_call, name="first_call"),
    path("", include("interop.hindsight.urls")),
    path("", include("interop.langgraph.urls")),
    path("", include("interop.mem0.urls")),
]
