"""What of a memory is embedded, and what it is found by."""

from kmapp.search import passages
from kmapp.search.passages import Passage
from memory.models import MemoryEntry


def passage_of(entry: MemoryEntry) -> Passage:
    """An entry as an embedding model is told of it."""
    speaker = entry.slots.get("speaker")
    return Passage(
        text=entry.content,
        date=entry.observed_at,
        speaker=speaker if isinstance(speaker, str) else "",
        title=entry.title,
        kind=entry.kind,
    )


def words_of(entry: MemoryEntry) -> str:
    """The text whose terms are indexed: people also ask for dates, titles, tags and names."""
    words = passages.words_of(passage_of(entry))
    return "\n".join([words, *entry.tags, *entry.entities])
