from importlib import import_module

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class OutboxConfig(AppConfig):
    name = "kmapp.outbox"
    label = "outbox"

    def ready(self) -> None:
        import_module("kmapp.celery")  # the app of all tasks
        import_module("kmapp.outbox.tasks")  # so that every published event wakes a worker
        autodiscover_modules("jobs.handlers")
