"""Page routes of memory."""

from django.urls import path

from memory.views import bulk_forget as forgetting_page
from memory.views import (
    bulk_review,
    edit,
    export,
    home_summary,
    lab,
    lease,
    merge,
    policy,
    ratings,
    review_decisions,
    saved_views,
    topics,
)
from memory.views import entries as pages
from memory.views import entry_list as listing_page
from memory.views import erasure as erasure_page

urlpatterns = [
    path("memory/", listing_page.entries, name="entries"),
    path("memory/export/", export.export, name="export"),
    path("memory/views/", saved_views.save, name="view_save"),
    path("memory/views/<uuid:pk>/", saved_views.update, name="view_update"),
    path("memory/views/<uuid:pk>/delete/", saved_views.delete, name="view_delete"),
    path("memory/erase/", erasure_page.erase, name="erase"),
    path("memory/forget/", forgetting_page.forget_these, name="forget_these"),
    path("memory/<uuid:pk>/", pages.entry, name="entry"),
    path("memory/<uuid:pk>/edit/", edit.edit, name="edit"),
    path("memory/<uuid:pk>/pin/", pages.pin, name="pin"),
    path("memory/<uuid:pk>/unpin/", pages.unpin, name="unpin"),
    path("memory/<uuid:pk>/forget/", pages.forget, name="forget"),
    path("memory/<uuid:pk>/rate/", ratings.rate_memory, name="rate"),
    path("memory/<uuid:pk>/revert/", pages.revert, name="revert"),
    path("memory/<uuid:pk>/undo/", review_decisions.undo, name="undo"),
    path("memory/summary/", home_summary.summary, name="summary"),
    path("topics/", topics.topics, name="topics"),
    path("topics/<uuid:pk>/", topics.topic, name="topic"),
    path("topics/<uuid:pk>/map/", topics.neighbourhood, name="topic_map"),
    path("topics/<uuid:pk>/rename/", topics.rename, name="topic_rename"),
    path("topics/<uuid:pk>/promote/", topics.promote, name="topic_promote"),
    path("topics/<uuid:pk>/merge/", topics.merge, name="topic_merge"),
    path("topics/<uuid:pk>/part/", topics.part, name="topic_part"),
    path("topics/suggestions/<uuid:pk>/follow/", topics.follow, name="topic_follow"),
    path("topics/suggestions/<uuid:pk>/decline/", topics.decline, name="topic_decline"),
    path("lab/", lab.lab, name="lab"),
    path("policy/", policy.policy, name="policy"),
    path("policy/set/", policy.set_policy, name="policy_set"),
    path("review/", review_decisions.review, name="review"),
    path("review/bulk/", bulk_review.many, name="bulk"),
    path("review/bulk/<uuid:pk>/", bulk_review.run, name="bulk_run"),
    path("review/bulk/<uuid:pk>/undo/", bulk_review.undo_run, name="bulk_undo"),
    path("review/<uuid:pk>/merge/", merge.merging, name="review_merge"),
    path("review/<uuid:pk>/pulse/", lease.pulse, name="review_pulse"),
    path("review/<uuid:pk>/take/", lease.acquire_by_force, name="review_take"),
    path("review/<uuid:pk>/sources/", lease.sources, name="review_sources"),
    path("review/<uuid:pk>/approve/", review_decisions.approve, name="approve"),
    path("review/<uuid:pk>/reject/", review_decisions.reject, name="reject"),
    path("review/<uuid:pk>/pin/", review_decisions.pin, name="review_pin"),
    path("review/<uuid:pk>/edit/", review_decisions.edit, name="review_edit"),
]
