"""The rows of context."""

from context.models.archives import ArchiveQuerySet, ToolResultArchive
from context.models.settings import ContextSettings

__all__ = ["ArchiveQuerySet", "ContextSettings", "ToolResultArchive"]
