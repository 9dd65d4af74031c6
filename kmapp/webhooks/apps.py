from importlib import import_module

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "kmapp.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        import_module("kmapp.webhooks.slack")  # registers its format
