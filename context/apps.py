from importlib import import_module

from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "context"

    def ready(self) -> None:
        import_module("context.actions.retention")  # hears of what is erased
        import_module("context.actions.personal_data")  # and of whom
        import_module("context.api.agent_tools")  # offers them to agents
        import_module("context.reports.usage")  # tells where things were used
