from importlib import import_module

from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "context"

    def ready(self) -> None:
        import_module("context.actions.retention")  # hears of what is erased
        import_module("context.actions.people")  # and of whom
        import_module("context.agent_tools")  # offers them to agents
        import_module("context.uses")  # tells where things were used
