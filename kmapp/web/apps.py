from django.apps import AppConfig
from django.contrib.admin import apps as admin


class WebConfig(AppConfig):
    name = "kmapp.web"
    label = "web"
    default = True


class AdminConfig(admin.AdminConfig):
    """The stock admin, entered by our own rules."""

    default = False
    default_site = "kmapp.web.admin_site.Site"
