from importlib import import_module

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "kmapp.notifications.webhooks"
    label = "webhooks"

    def ready(self) -> None:
        import_module("kmapp.notifications.webhooks.slack")  # registers its format
