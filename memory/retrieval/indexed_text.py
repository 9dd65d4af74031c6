"""The texts of a memory for embedding and for the lexical index."""

from kmapp.search import passages
from kmapp.search.passages import Passage
from memory.models import MemoryEntry


def passage_of(entry: MemoryEntry) -> Passage:
    """Return an entry as a passage for embedding."""
    speaker = entry.slots.get("speaker")
    return Passage(
        text=entry.content,
        date=entry.observed_at,
        speaker=speaker if isinstance(speaker, str) else "",
        title=entry.title,
        kind=entry.kind,
    )


def words_of(entry: MemoryEntry) -> str:
    """Return the text whose terms are indexed, with dates, titles, tags and names."""
    words = passages.words_of(passage_of(entry))
    return "\n".join([words, *entry.tags, *entry.entities])
