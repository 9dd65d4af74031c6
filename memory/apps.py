from importlib import import_module

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"

    def ready(self) -> None:
        import_module("memory.api.health")  # registers its figures
        import_module("memory.api.extraction_results")  # registers what became of extractions
        import_module("memory.api.agent_tools")  # offers them to agents
        import_module("memory.views.review_decisions")  # registers the number of what waits
        import_module("memory.views.key_quotas")  # tells what keys may still write
