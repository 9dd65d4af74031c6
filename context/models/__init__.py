"""The models of context."""

from context.models.archives import ArchiveQuerySet, Extractive, ToolResultArchive
from context.models.calls import (
    ContextBody,
    ContextCitation,
    ContextCostReport,
    ContextInput,
    ContextSummary,
    ReportQuerySet,
)
from context.models.comparisons import ContextComparison, ContextDifference
from context.models.settings import ContextSettings

__all__ = [
    "ArchiveQuerySet",
    "ContextBody",
    "ContextCitation",
    "ContextComparison",
    "ContextCostReport",
    "ContextDifference",
    "ContextInput",
    "ContextSettings",
    "ContextSummary",
    "Extractive",
    "ReportQuerySet",
    "ToolResultArchive",
]
