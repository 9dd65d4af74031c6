"""What of a chunk is embedded, and what it is found by."""

from kmapp.search.passages import Passage
from knowledge.models import KnowledgeChunk


def path_of(title: str, headings: "list[str] | tuple[str, ...]") -> str:
    """Where a chunk stands, as a reader would say it: the title, then the headings below it."""
    below = [heading for heading in headings if heading != title]
    return " > ".join([title, *below] if title else below)


def passage_of(chunk: KnowledgeChunk, title: str) -> Passage:
    """A chunk as an embedding model is told of it: few passages name what they are about."""
    return Passage(text=f"{path_of(title, chunk.headings)}\n{chunk.text}")


def words_of(chunk: KnowledgeChunk, title: str, ref: str) -> str:
    """The text whose terms are indexed."""
    return "\n".join([ref, path_of(title, chunk.headings), chunk.text])
