"""Serialization of chunks from the sandbox, without their texts. Pure."""

import json
from collections.abc import Sequence
from typing import Any

from knowledge.chunking import Chunk


class BadCut(ValueError):
    """What came out are no chunks of that text: a file may have taken the process over."""


def packed(chunks: Sequence[Chunk]) -> bytes:
    return json.dumps(
        [
            [each.start, each.end, each.line_start, each.line_end, each.page, each.headings]
            for each in chunks
        ]
    ).encode()


def unpacked(text: str, data: bytes) -> list[Chunk]:
    """Yield the chunks of a text in order."""
    try:
        return [_chunk(text, number, *row) for number, row in enumerate(json.loads(data))]
    except (TypeError, ValueError) as error:
        raise BadCut from error


def _chunk(text: str, number: int, start: int, end: int, *place: Any) -> Chunk:
    if not 0 <= start < end <= len(text):
        raise BadCut
    line_start, line_end, page, headings = place
    return Chunk(
        index=number,
        start=start,
        end=end,
        line_start=int(line_start),
        line_end=int(line_end),
        page=page and int(page),
        headings=tuple(str(each) for each in headings),
        text=text[start:end],
    )
