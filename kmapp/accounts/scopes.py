"""Scopes of API keys."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Scope(models.TextChoices):
    """Permissions, named `<source>:<operation>`. `admin` implies all of them.

    `strict` permits nothing: requests with this key are refused if they have unknown fields.
    `debug` permits nothing either: previews of embeddings need `admin`. Only older keys have it.
    """

    MEMORY_READ = "memory:read", _("Read memories")
    MEMORY_WRITE = "memory:write", _("Write memories")
    MEMORY_ERASE = "memory:erase", _("Permanently erase memories")
    KNOWLEDGE_READ = "knowledge:read", _("Read knowledge")
    KNOWLEDGE_WRITE = "knowledge:write", _("Write knowledge")
    KNOWLEDGE_TRUST = "knowledge:trust", _("Write to trusted sources")
    RULES_READ = "rules:read", _("Read rules")
    RULES_WRITE = "rules:write", _("Write rules")
    RULES_OVERRIDE = "rules:override", _("Promote rules and change active ones")
    CONTEXT_READ = "context:read", _("Read context reports")
    CONTEXT_WRITE = "context:write", _("Assemble context")
    LEDGER_COUNTERSIGN = "ledger:countersign", _("Store checkpoints of another kmapp")
    DEBUG = "debug", _("No effect (older keys only)")
    ADMIN = "admin", _("Full access")
    STRICT = "strict", _("Refuse requests with unknown fields")

    @property
    def only_reads(self) -> bool:
        return self.value.endswith(":read")


GRANTABLE_SCOPES = tuple(each for each in Scope if each is not Scope.DEBUG)
READ_AND_WRITE_SCOPES = tuple(each for each in Scope if each.value.endswith((":read", ":write")))
