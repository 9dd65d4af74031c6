from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "kmapp.webhooks"
    label = "webhooks"
