from importlib import import_module

from django.apps import AppConfig


class RulesConfig(AppConfig):
    name = "rules"

    def ready(self) -> None:
        import_module("rules.actions.personal_data")  # registers the personal data handlers
        import_module("rules.api.evaluation")  # registers the evaluation for other apps
        import_module("rules.api.rule_batch_nodes")  # registers rules as nodes of a batch
