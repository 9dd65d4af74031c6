"""API routes of knowledge. No trailing slashes."""

from django.urls import path

from knowledge.api import lore_evaluation, search, sources

urlpatterns = [
    path("v1/knowledge/ingest", sources.Ingest.as_view(), name="api_ingest"),
    path("v1/knowledge/search", search.SearchKnowledge.as_view(), name="api_search"),
    path("v1/knowledge/get", search.GetKnowledge.as_view(), name="api_get"),
    path("v1/knowledge/sources", sources.Sources.as_view(), name="api_sources"),
    path("v1/knowledge/sources/<uuid:pk>", sources.Source.as_view(), name="api_source"),
    path("v1/knowledge/documents/<uuid:pk>", sources.Document.as_view(), name="api_document"),
    path("v1/knowledge/lorebook/evaluate", lore_evaluation.EvaluateLore.as_view(), name="api_lore"),
]
