"""The arguments of tool calls, which models write. Pure."""

import json
from typing import Any

from kmapp.ledger.canonical import MAX_INTEGER, find_unstorable_character

MAX_DEPTH = 64  # levels
MAX_DIGITS = 16  # of an integer that may be exact as a double


def decode_arguments(arguments: Any) -> Any:
    """Return the value of arguments in JSON, with texts for numbers that cannot be stored.

    Arguments that are no JSON, or hold texts that cannot be stored, stay as they are.
    """
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(
            arguments, parse_int=_parse_integer, parse_float=_parse_float, parse_constant=str
        )
    except (ValueError, RecursionError):
        return arguments
    return value if _is_storable(value, MAX_DEPTH) else arguments


def _parse_integer(text: str) -> int | str:
    is_short = len(text.lstrip("-")) <= MAX_DIGITS
    return int(text) if is_short and abs(int(text)) <= MAX_INTEGER else text


def _parse_float(text: str) -> float | str:
    number = float(text)
    return number if abs(number) <= MAX_INTEGER else text


def _is_storable(value: Any, levels: int) -> bool:
    if isinstance(value, str):
        return find_unstorable_character(value) is None
    if isinstance(value, dict):
        has_names = all(_is_storable(name, 0) for name in value)
        return has_names and _is_storable(list(value.values()), levels)
    if isinstance(value, list):
        return levels > 0 and all(_is_storable(item, levels - 1) for item in value)
    return True
