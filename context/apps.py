from importlib import import_module

from django.apps import AppConfig


class ContextConfig(AppConfig):
    name = "context"

    def ready(self) -> None:
        import_module("context.actions.erase_from_calls")  # registers the erasure handler
        import_module("context.actions.personal_data")  # registers the personal data handlers
        import_module("context.api.agent_tools")  # registers the agent tools
        import_module("context.views.statistics")  # registers its daily figures
        import_module("context.learning.call_outcome_labels")  # registers the labels of calls
        import_module("context.reports.object_usage")  # registers the usage of objects in calls
