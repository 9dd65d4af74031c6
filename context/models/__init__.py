"""The rows of context."""

from context.models.archives import ArchiveQuerySet, ToolResultArchive
from context.models.reports import (
    ContextBody,
    ContextCitation,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ReportQuerySet,
)
from context.models.settings import ContextSettings

__all__ = [
    "ArchiveQuerySet",
    "ContextBody",
    "ContextCitation",
    "ContextCostReport",
    "ContextInput",
    "ContextSettings",
    "ContextSummary",
    "ReportQuerySet",
    "ToolResultArchive",
]
