from importlib import import_module

from django.apps import AppConfig


class RulesConfig(AppConfig):
    name = "rules"

    def ready(self) -> None:
        import_module("rules.actions.personal_data")  # hears of whom nothing is to be left
        import_module("rules.api.batch_nodes")  # takes the rules of a batch
