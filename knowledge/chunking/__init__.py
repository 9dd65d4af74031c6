"""Chunking: splitting a text into searchable, citable chunks. Pure.

A chunk is a slice of its text and nothing else: `text[chunk.start:chunk.end] == chunk.text`, so a
citation leads back to exactly that slice. Texts are split at headings, pages, definitions of a
programming language and ends of sentences, in this order, where a text has them.
"""

from knowledge.chunking.splitter import Chunk, Shape, split_chunks

__all__ = ["Chunk", "Shape", "split_chunks"]
