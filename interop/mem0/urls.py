"""Routes of mem0. Clients send a final slash, which a middleware removes."""

from django.urls import path

from interop.mem0 import (
    deletion,
    exports,
    listing,
    memories,
    projects,
    unsupported_operations,
    webhooks,
)
from interop.mem0.events import EventList, OneEvent

PROJECTS = "api/v1/orgs/organizations/<str:org>/projects"

urlpatterns = [
    path("v1/ping", projects.Ping.as_view()),
    path("v3/memories/add", memories.AddMemories.as_view()),
    path("v3/memories/search", memories.SearchMemories.as_view()),
    path("v3/memories", listing.ListMemories.as_view()),
    path("v1/memories", deletion.DeleteMemories.as_view()),
    path("v1/memories/<str:memory_id>", memories.OneMemory.as_view()),
    path("v1/memories/<str:memory_id>/history", memories.MemoryHistory.as_view()),
    path("v1/batch", memories.BatchOfMemories.as_view()),
    path("v1/feedback", memories.Feedback.as_view()),
    path("v1/entities", listing.Entities.as_view()),
    path("v1/event/<uuid:pk>", OneEvent.as_view()),
    path("v1/events", EventList.as_view()),
    path("v1/exports", exports.CreateExport.as_view()),
    path("v1/exports/get", exports.ReadExport.as_view()),
    path(f"{PROJECTS}/<str:project>", projects.Project.as_view()),
    path("api/v1/webhooks/projects/<str:project>", webhooks.ProjectWebhooks.as_view()),
    path("api/v1/webhooks/<uuid:pk>", webhooks.OneWebhook.as_view()),
    *unsupported_operations.urlpatterns,
    path("v2/entities/<str:kind>/<path:name>", deletion.DeleteEntity.as_view()),
]
