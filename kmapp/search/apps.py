from importlib import import_module

from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "kmapp.search"
    label = "search"

    def ready(self) -> None:
        import_module("kmapp.search.lookups")  # registers them
