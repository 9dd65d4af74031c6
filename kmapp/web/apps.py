from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "kmapp.web"
    label = "web"
