"""The texts of a memory for embedding and for the lexical index."""

from kmapp.search import embedding_passages
from kmapp.search.embedding_passages import Passage
from memory.models import MemoryEntry


def build_passage(entry: MemoryEntry) -> Passage:
    """Return an entry as a passage for embedding."""
    speaker = entry.slots.get("speaker")
    return Passage(
        text=entry.content,
        date=entry.observed_at,
        speaker=speaker if isinstance(speaker, str) else "",
        title=entry.title,
        kind=entry.kind,
    )


def build_indexed_text(entry: MemoryEntry) -> str:
    """Return the text whose terms are indexed, with dates, titles, tags and names."""
    words = embedding_passages.build_indexed_text(build_passage(entry))
    return "\n".join([words, *entry.tags, *entry.entities])
