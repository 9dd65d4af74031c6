from django.apps import AppConfig


class KmappConfig(AppConfig):
    name = "kmapp"
