from importlib import import_module

from django.apps import AppConfig, apps
from django.contrib.admin import apps as admin
from django.utils.module_loading import autodiscover_modules


class WebConfig(AppConfig):
    name = "kmapp.web"
    label = "web"
    default = True

    def ready(self) -> None:
        import_module("kmapp.web.statistics.kernel")  # registers its daily figures
        import_module("kmapp.web.site_search.stored_searches")  # registers personal data handlers


class AdminConfig(admin.AdminConfig):
    """The Django admin, for one account at a time."""

    default = False
    default_site = "kmapp.web.admin.site.Site"

    def ready(self) -> None:
        super().ready()
        import_module("kmapp.web.admin.accounts")
        import_module("kmapp.web.admin.kernel")
        autodiscover_modules("views.admin")
        # Logins belong to people, not to the account that the admin pages show.
        site = import_module("django.contrib.admin").site
        for model in apps.get_models():
            if model.__module__.startswith("allauth.") and site.is_registered(model):
                site.unregister(model)
