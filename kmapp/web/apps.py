from importlib import import_module

from django.apps import AppConfig
from django.contrib.admin import apps as admin


class WebConfig(AppConfig):
    name = "kmapp.web"
    label = "web"
    default = True

    def ready(self) -> None:
        import_module("kmapp.web.sessions")  # it hears who signs in


class AdminConfig(admin.AdminConfig):
    """The stock admin, entered by our own rules."""

    default = False
    default_site = "kmapp.web.admin_site.Site"
