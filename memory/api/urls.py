"""API routes of memory, declared without a trailing slash."""

from django.urls import path

from memory.api import (
    add_messages,
    entries,
    erasure,
    feedback,
    forgetting,
    learned_rankings,
    ledger,
    list_entries,
    recall,
    search,
)

urlpatterns = [
    path("v1/memory/write", entries.Write.as_view(), name="api_write"),
    path("v1/memory/store", entries.Store.as_view(), name="api_store"),
    path("v1/memory/add", add_messages.Add.as_view(), name="api_add"),
    path(
        "v1/memory/store_if_worthwhile",
        add_messages.StoreIfWorthwhile.as_view(),
        name="api_store_if_worthwhile",
    ),
    path("v1/memory/get", entries.Get.as_view(), name="api_get"),
    path("v1/memory/update", entries.Update.as_view(), name="api_update"),
    path("v1/memory/forget", forgetting.Forget.as_view(), name="api_forget"),
    path("v1/memory/erase", erasure.Erase.as_view(), name="api_erase"),
    path("v1/memory/feedback", feedback.Feedback.as_view(), name="api_feedback"),
    path("v1/memory/list", list_entries.ListMemories.as_view(), name="api_list"),
    path("v1/memory/search", search.SearchMemories.as_view(), name="api_search"),
    path("v1/memory/recall", recall.RecallByVector.as_view(), name="api_recall"),
    path("v1/memory/recall_text", recall.RecallText.as_view(), name="api_recall_text"),
    path("v1/memory/inject", recall.Inject.as_view(), name="api_inject"),
    path("v1/memory/judgements", learned_rankings.Judgements.as_view(), name="api_judgements"),
    path("v1/memory/rankings", learned_rankings.Rankings.as_view(), name="api_rankings"),
    path("v1/memory/rankings/<uuid:pk>", learned_rankings.OneRanking.as_view(), name="api_ranking"),
    path(
        "v1/memory/rankings/<uuid:pk>/comparisons",
        learned_rankings.RankingComparisons.as_view(),
        name="api_ranking_comparisons",
    ),
    path("v1/memory/commits", ledger.Commits.as_view(), name="api_commits"),
    path("v1/memory/verify", ledger.Verify.as_view(), name="api_verify"),
    path("v1/memory/<uuid:pk>/history", ledger.History.as_view(), name="api_history"),
]
