from django.apps import AppConfig


class ProvidersConfig(AppConfig):
    name = "kmapp.providers"
    label = "providers"
