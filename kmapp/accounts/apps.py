from django.apps import AppConfig


class AccountsConfig(AppConfig):
    name = "kmapp.accounts"
    label = "accounts"
