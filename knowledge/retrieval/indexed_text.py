"""The texts of a chunk for embedding and for the lexical index."""

from collections.abc import Iterator, Sequence

from kmapp.search.passage_templates import Passage
from knowledge.chunking import Shape, split_chunks
from knowledge.models import KnowledgeChunk

# Tokens in a part of a chunk with its own vector. One vector for several sections represents each
# of them less well than the vector of the section that answers a query.
PART_TOKENS = 160


def format_path(title: str, headings: Sequence[str]) -> str:
    """Return the title and the headings below it, joined as a readable path."""
    below = [heading for heading in headings if heading != title]
    return " > ".join([title, *below] if title else below)


def split_passages(chunk: KnowledgeChunk, title: str) -> Iterator[Passage]:
    """Return the parts of a chunk for embedding, with the context of their headings."""
    text = chunk.text_row
    parts = split_chunks(chunk.text, Shape(text.shape), tokens=PART_TOKENS, language=text.language)
    for part in parts:
        inside = [heading for heading in part.headings if heading not in chunk.headings]
        yield Passage(text=f"{format_path(title, [*chunk.headings, *inside])}\n{part.text}")


def build_lexical_text(chunk: KnowledgeChunk, title: str, ref: str) -> str:
    return "\n".join([ref, format_path(title, chunk.headings), chunk.text])
