"""Index versions: variants of chunking, each with its own chunks, postings and vectors. Pure."""

from collections.abc import Mapping

INDEX_VERSIONS: Mapping[str, int] = {"1": 360, "2": 160}  # tokens in a chunk


def collection_name(index_version: str) -> str:
    return f"knowledge.{index_version}"
