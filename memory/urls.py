"""Memory's addresses. API routes have no last slash."""

from django.urls import path

from memory.api import (
    adding,
    entries,
    erasure,
    feedback,
    forgetting,
    listing,
    reading,
    recalling,
)
from memory.views import (
    bulk,
    desk,
    editing,
    lab,
    merging,
    policy,
    ratings,
    review,
    saved,
    summary,
    taking,
)
from memory.views import entries as pages
from memory.views import erasure as erasure_page
from memory.views import forgetting as forgetting_page
from memory.views import listing as listing_page

app_name = "memory"
urlpatterns = [
    path("v1/memory/write", entries.Write.as_view(), name="api_write"),
    path("v1/memory/store", entries.Store.as_view(), name="api_store"),
    path("v1/memory/add", adding.Add.as_view(), name="api_add"),
    path(
        "v1/memory/store_if_worthwhile",
        adding.StoreIfWorthwhile.as_view(),
        name="api_store_if_worthwhile",
    ),
    path("v1/memory/get", entries.Get.as_view(), name="api_get"),
    path("v1/memory/update", entries.Update.as_view(), name="api_update"),
    path("v1/memory/forget", forgetting.Forget.as_view(), name="api_forget"),
    path("v1/memory/erase", erasure.Erase.as_view(), name="api_erase"),
    path("v1/memory/feedback", feedback.Feedback.as_view(), name="api_feedback"),
    path("v1/memory/list", listing.ListMemories.as_view(), name="api_list"),
    path("v1/memory/search", reading.SearchMemories.as_view(), name="api_search"),
    path("v1/memory/recall", recalling.RecallByVector.as_view(), name="api_recall"),
    path("v1/memory/recall_text", recalling.RecallText.as_view(), name="api_recall_text"),
    path("v1/memory/inject", recalling.Inject.as_view(), name="api_inject"),
    path("v1/memory/commits", reading.Commits.as_view(), name="api_commits"),
    path("v1/memory/verify", reading.Verify.as_view(), name="api_verify"),
    path("v1/memory/<uuid:pk>/history", reading.History.as_view(), name="api_history"),
    path("memory/", listing_page.entries, name="entries"),
    path("memory/export/", taking.export, name="export"),
    path("memory/views/", saved.save, name="view_save"),
    path("memory/views/<uuid:pk>/", saved.update, name="view_update"),
    path("memory/views/<uuid:pk>/delete/", saved.delete, name="view_delete"),
    path("memory/erase/", erasure_page.erase, name="erase"),
    path("memory/forget/", forgetting_page.forget_these, name="forget_these"),
    path("memory/<uuid:pk>/", pages.entry, name="entry"),
    path("memory/<uuid:pk>/edit/", editing.edit, name="edit"),
    path("memory/<uuid:pk>/pin/", pages.pin, name="pin"),
    path("memory/<uuid:pk>/unpin/", pages.unpin, name="unpin"),
    path("memory/<uuid:pk>/forget/", pages.forget, name="forget"),
    path("memory/<uuid:pk>/rate/", ratings.rate_memory, name="rate"),
    path("memory/<uuid:pk>/revert/", pages.revert, name="revert"),
    path("memory/<uuid:pk>/undo/", review.undo, name="undo"),
    path("memory/summary/", summary.summary, name="summary"),
    path("lab/", lab.lab, name="lab"),
    path("policy/", policy.policy, name="policy"),
    path("policy/set/", policy.set_policy, name="policy_set"),
    path("review/", review.review, name="review"),
    path("review/bulk/", bulk.many, name="bulk"),
    path("review/bulk/<uuid:pk>/", bulk.run, name="bulk_run"),
    path("review/bulk/<uuid:pk>/undo/", bulk.undo_run, name="bulk_undo"),
    path("review/<uuid:pk>/merge/", merging.merging, name="review_merge"),
    path("review/<uuid:pk>/pulse/", desk.pulse, name="review_pulse"),
    path("review/<uuid:pk>/take/", desk.take_over, name="review_take"),
    path("review/<uuid:pk>/sources/", desk.sources, name="review_sources"),
    path("review/<uuid:pk>/approve/", review.approve, name="approve"),
    path("review/<uuid:pk>/reject/", review.reject, name="reject"),
    path("review/<uuid:pk>/pin/", review.pin, name="review_pin"),
    path("review/<uuid:pk>/edit/", review.edit, name="review_edit"),
]
