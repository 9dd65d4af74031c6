from importlib import import_module

from django.apps import AppConfig


class NotificationsConfig(AppConfig):
    name = "kmapp.notifications"
    label = "notifications"

    def ready(self) -> None:
        import_module("kmapp.notifications.kernel_kinds")  # registers the kernel's kinds
        import_module("kmapp.notifications.webhook_changes")  # registers what webhooks report
        import_module("kmapp.notifications.seal_mismatches")  # registers what webhooks report
        import_module("kmapp.notifications.kernel_notifications")  # observes jobs and chains
