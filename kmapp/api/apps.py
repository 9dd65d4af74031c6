from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "kmapp.api"
    label = "api"
