from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "kmapp.ledger"
    label = "ledger"
