from memory.models.edges import MemoryEdge
from memory.models.entries import EntryQuerySet, MemoryEntry, Viewer
from memory.models.extractions import Extraction
from memory.models.ratings import MemoryRating
from memory.models.review import (
    BulkPart,
    BulkRun,
    Finding,
    Need,
    ReviewLease,
    TopicSuggestion,
    Triage,
)
from memory.models.saved_views import MemoryExport, SavedView
from memory.models.settings import MemorySettings
from memory.models.versions import ErasedEntry, MemoryVersion

__all__ = [
    "BulkPart",
    "BulkRun",
    "EntryQuerySet",
    "ErasedEntry",
    "Extraction",
    "Finding",
    "MemoryEdge",
    "MemoryEntry",
    "MemoryExport",
    "MemoryRating",
    "MemorySettings",
    "MemoryVersion",
    "Need",
    "ReviewLease",
    "SavedView",
    "TopicSuggestion",
    "Triage",
    "Viewer",
]
