"""Routes of operations and of asynchronous work."""

from django.urls import path

from kmapp.api.agent_tools import AgentTools
from kmapp.api.event_status import OneEvent
from kmapp.api.health import Health
from kmapp.api.metrics_endpoint import Metrics
from kmapp.api.peer_checkpoints import Checkpoints
from kmapp.api.schema_views import Schema, Version, docs
from kmapp.api.webhooks import OneWebhook, WebhookList

app_name = "api"
urlpatterns = [
    path("health", Health.as_view(), name="liveness"),
    path("metrics", Metrics.as_view(), name="metrics"),
    path("v1/health", Health.as_view(), name="health"),
    path("v1/events/<uuid:pk>", OneEvent.as_view(), name="event"),
    path("v1/checkpoints", Checkpoints.as_view(), name="checkpoints"),
    path("v1/webhooks", WebhookList.as_view(), name="webhooks"),
    path("v1/webhooks/<uuid:pk>", OneWebhook.as_view(), name="webhook"),
    path("v1/agent-tools", AgentTools.as_view(), name="agent_tools"),
    path("v1/version", Version.as_view(), name="version"),
    path("v1/schema", Schema.as_view(), name="schema"),
    path("v1/docs", docs, name="docs"),
]
