from importlib import import_module

from django.apps import AppConfig


class KnowledgeConfig(AppConfig):
    name = "knowledge"

    def ready(self) -> None:
        import_module("knowledge.api.agent_tools")  # offers them to agents
        import_module("knowledge.views.object_usage")  # registers links and the parts of documents
