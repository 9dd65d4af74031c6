from importlib import import_module

from django.apps import AppConfig


class MemoryConfig(AppConfig):
    name = "memory"

    def ready(self) -> None:
        import_module("memory.api.health")  # registers its metrics
        import_module("memory.api.filter_schema")  # registers the schema of filters
        import_module("memory.api.extraction_results")  # registers results of extractions
        import_module("memory.api.webhook_changes")  # registers the changes that webhooks report
        import_module("memory.api.agent_tools")  # registers the tools of agents
        import_module("memory.actions.judgements")  # registers the erasure of judgements
        import_module("memory.actions.personal_data")  # registers the personal data handlers
        import_module("memory.views.review_decisions")  # registers the number of proposals
        import_module("memory.views.statistics")  # registers its daily figures
        import_module("memory.views.object_links")  # registers links to memories
        import_module("memory.views.key_quota_usage")  # registers the quotas of keys
