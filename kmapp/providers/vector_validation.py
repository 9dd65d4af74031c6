"""Validation of the vectors in a provider's response. Pure.

A zero or non-finite vector would be the neighbour of everything in the index or break it; a swapped
one would return one person's text for another's.
"""

import base64
import math
from array import array
from collections.abc import Mapping
from sys import byteorder
from typing import Any

# In half precision, a vector beyond these bounds becomes infinite or zero.
MAX_VALUE = 65_504.0
MIN_NORM = 1e-4


class Unusable(ValueError):
    """A text has no vector that can be used."""


def parse_embeddings(answer: object, *, count: int) -> list[object]:
    """Return the raw embeddings of an OpenAI-style response, one per text, in order.

    Raise Unusable if they cannot be matched to the texts, another ValueError for invalid data.
    """
    items = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise ValueError("it has no list of embeddings")
    if len(items) != count:
        raise Unusable(f"requested {count} vectors, received {len(items)}")
    order = [item.get("index") for item in items]
    if order != list(range(count)):
        raise Unusable(f"the vectors are out of order: {order[:8]}")
    return [item.get("embedding") for item in items]


def parse_vector(raw: object, *, dimensions: int) -> list[float]:
    """Return one embedding, from a list or from base64 of 32-bit floats, as numbers."""
    vector = _decode_numbers(raw)
    if len(vector) != dimensions:
        raise Unusable(f"{len(vector)} dimensions instead of {dimensions}")
    if not all(map(math.isfinite, vector)):
        raise Unusable("contains NaN or infinity")
    if max(map(abs, vector)) > MAX_VALUE:
        raise Unusable("contains numbers too large for half precision")
    if math.hypot(*vector) < MIN_NORM:
        raise Unusable("is zero")
    return vector


def pack_vector(vector: list[float]) -> str:
    """Return the compact form that `parse_vector` reads: base64 of 32-bit floats."""
    return base64.b64encode(_little_endian(array("f", vector)).tobytes()).decode()


def _decode_numbers(raw: Any) -> list[float]:
    try:
        if isinstance(raw, str):
            return _little_endian(array("f", base64.b64decode(raw, validate=True))).tolist()
        return array("d", raw).tolist()
    except (TypeError, ValueError, OverflowError) as error:
        raise Unusable(f"is not a vector: {error}") from error


def _little_endian(numbers: "array[float]") -> "array[float]":
    if byteorder == "big":
        numbers.byteswap()
    return numbers
