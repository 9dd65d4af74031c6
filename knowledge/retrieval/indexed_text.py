"""The texts of a chunk for embedding and for the lexical index."""

from collections.abc import Iterator, Sequence

from kmapp.search.passages import Passage
from knowledge.chunking import Shape, chunked
from knowledge.models import KnowledgeChunk

# Of a part of a chunk that has a vector of its own. One vector for several sections says a little
# of each: a question is nearer to the one that answers it.
PART_TOKENS = 160


def path_of(title: str, headings: Sequence[str]) -> str:
    """Where a chunk stands, as a reader would say it: the title, then the headings below it."""
    below = [heading for heading in headings if heading != title]
    return " > ".join([title, *below] if title else below)


def passages_of(chunk: KnowledgeChunk, title: str) -> Iterator[Passage]:
    """Return the parts of a chunk for embedding, with the context of their headings."""
    text = chunk.text_row
    parts = chunked(chunk.text, Shape(text.shape), tokens=PART_TOKENS, language=text.language)
    for part in parts:
        inside = [heading for heading in part.headings if heading not in chunk.headings]
        yield Passage(text=f"{path_of(title, [*chunk.headings, *inside])}\n{part.text}")


def words_of(chunk: KnowledgeChunk, title: str, ref: str) -> str:
    """Return the text whose terms are indexed."""
    return "\n".join([ref, path_of(title, chunk.headings), chunk.text])
