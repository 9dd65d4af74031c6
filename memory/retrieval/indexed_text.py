"""The texts of a memory for embedding and for the lexical index."""

from kmapp.search import passage_templates
from kmapp.search.passage_templates import Passage
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
    words = passage_templates.build_indexed_text(build_passage(entry))
    return "\n".join([words, *entry.tags, *entry.entities])
