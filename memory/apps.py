from importlib import import_module

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"

    def ready(self) -> None:
        import_module("memory.health")  # registers its figures
        import_module("memory.outcomes")  # registers what became of extractions
        import_module("memory.tools")  # offers them to agents
        import_module("memory.views.review")  # registers the number of what waits
        import_module("memory.views.quotas")  # tells what keys may still write
