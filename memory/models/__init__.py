from memory.models.edges import MemoryEdge
from memory.models.entries import EntryQuerySet, MemoryEntry, Viewer
from memory.models.versions import ErasedEntry, MemoryVersion

__all__ = [
    "EntryQuerySet",
    "ErasedEntry",
    "MemoryEdge",
    "MemoryEntry",
    "MemoryVersion",
    "Viewer",
]
