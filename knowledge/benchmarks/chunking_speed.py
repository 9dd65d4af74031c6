"""Files per second that one core reads, decodes and chunks."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kmapp.search.variants import DEFAULT
from knowledge.actions.folder_sync import delivery_of, files_of
from knowledge.chunking import chunked
from knowledge.chunking.index_versions import INDEX_VERSIONS
from knowledge.parsing.formats import decoded, format_of, title_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Speed:
    files: int
    characters: int
    chunks: int
    seconds: float  # of processor time

    @property
    def files_a_second(self) -> float:
        return self.files / self.seconds


def texts_of(folder: Path) -> list[Path]:
    """Yield the files of a folder that need no parser."""
    return [path for path in files_of(folder) if (form := format_of(path.name)) and not form.parser]


def chunk_all(folder: Path, paths: Sequence[Path]) -> Speed:
    """Read and chunk each file as a delivery does."""
    tokens = INDEX_VERSIONS[DEFAULT.index_version]
    characters = chunks = 0
    started = time.process_time()
    for path in paths:
        delivery = delivery_of(folder, path)
        form = format_of(delivery.ref)
        assert form  # noqa: S101 - selected by `texts_of`
        text = decoded(b"".join(delivery.pieces))
        title_of(delivery.ref, text, form.shape)
        document_chunks = chunked(text, form.shape, tokens=tokens, language=form.language)
        characters, chunks = characters + len(text), chunks + len(document_chunks)
    seconds = time.process_time() - started
    return Speed(files=len(paths), characters=characters, chunks=chunks, seconds=seconds)
