"""The rows of context."""

from context.models.archives import ArchiveQuerySet, ToolResultArchive
from context.models.reports import (
    ContextBody,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ReportQuerySet,
)
from context.models.settings import ContextSettings

__all__ = [
    "ArchiveQuerySet",
    "ContextBody",
    "ContextCostReport",
    "ContextInput",
    "ContextSettings",
    "ContextSummary",
    "ReportQuerySet",
    "ToolResultArchive",
]
