"""Routes of LangGraph."""

from django.urls import path

from interop.langgraph import store

urlpatterns = [
    path("ok", store.ok),
    path("store/items", store.Items.as_view()),
    path("store/items/search", store.SearchItems.as_view()),
    path("store/namespaces", store.Namespaces.as_view()),
]
