from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class OutboxConfig(AppConfig):
    name = "kmapp.outbox"
    label = "outbox"

    def ready(self) -> None:
        autodiscover_modules("handlers")
