"""Memory's addresses. API routes have no last slash."""

from django.urls import path

from memory.api import entries, reading
from memory.views import entries as pages
from memory.views import review, summary

app_name = "memory"
urlpatterns = [
    path("v1/memory/write", entries.Write.as_view(), name="api_write"),
    path("v1/memory/store", entries.Store.as_view(), name="api_store"),
    path("v1/memory/get", entries.Get.as_view(), name="api_get"),
    path("v1/memory/update", entries.Update.as_view(), name="api_update"),
    path("v1/memory/forget", entries.Forget.as_view(), name="api_forget"),
    path("v1/memory/search", reading.SearchMemories.as_view(), name="api_search"),
    path("v1/memory/commits", reading.Commits.as_view(), name="api_commits"),
    path("v1/memory/verify", reading.Verify.as_view(), name="api_verify"),
    path("v1/memory/<uuid:pk>/history", reading.History.as_view(), name="api_history"),
    path("memory/", pages.entries, name="entries"),
    path("memory/<uuid:pk>/", pages.entry, name="entry"),
    path("memory/<uuid:pk>/edit/", pages.edit, name="edit"),
    path("memory/<uuid:pk>/pin/", pages.pin, name="pin"),
    path("memory/<uuid:pk>/unpin/", pages.unpin, name="unpin"),
    path("memory/<uuid:pk>/forget/", pages.forget, name="forget"),
    path("memory/<uuid:pk>/revert/", pages.revert, name="revert"),
    path("memory/<uuid:pk>/undo/", review.undo, name="undo"),
    path("memory/summary/", summary.summary, name="summary"),
    path("review/", review.review, name="review"),
    path("review/<uuid:pk>/approve/", review.approve, name="approve"),
    path("review/<uuid:pk>/reject/", review.reject, name="reject"),
    path("review/<uuid:pk>/pin/", review.pin, name="review_pin"),
    path("review/<uuid:pk>/edit/", review.edit, name="review_edit"),
]
