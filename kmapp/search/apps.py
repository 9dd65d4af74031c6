from django.apps import AppConfig


class SearchConfig(AppConfig):
    name = "kmapp.search"
    label = "search"
