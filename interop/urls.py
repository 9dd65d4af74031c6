"""Routes of all protocols."""

from django.urls import include, path

app_name = "interop"
urlpatterns = [
    path("", include("interop.hindsight.urls")),
    path("", include("interop.langgraph.urls")),
    path("", include("interop.mem0.urls")),
]
