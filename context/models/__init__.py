"""The models of context."""

from context.models.archives import ArchiveQuerySet, ExtractiveReason, ToolResultArchive
from context.models.calls import (
    ContextBody,
    ContextCitation,
    ContextCostReport,
    ContextInput,
    ReportQuerySet,
)
from context.models.comparisons import ContextComparison, ContextDifference
from context.models.settings import ContextSettings
from context.models.summaries import ContextSummary

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
    "ExtractiveReason",
    "ReportQuerySet",
    "ToolResultArchive",
]
