"""Import of SillyTavern lorebooks and character cards. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

LOGIC = {0: "and_any", 1: "not_all", 2: "not_any", 3: "and_all"}
NAME_LENGTH, KEY_LENGTH = 200, 500  # characters


class NoLorebook(ValueError):
    """The file has no “entries”, so it is not a lorebook."""


def parse_entries(book: Any) -> list[dict[str, Any]]:
    """Return the entries of a world-info file, a character card or a character book."""
    entries = _find_entries(book)
    if entries is None:
        raise NoLorebook
    return [_parse_entry(each) for each in entries if _parse_text(each.get("content")).strip()]


def _find_entries(book: Any) -> list[Mapping[str, Any]] | None:
    if not isinstance(book, Mapping):
        return None
    data = book.get("data")
    inner = data if isinstance(data, Mapping) else book
    lorebook = inner.get("character_book", inner)
    entries = lorebook.get("entries") if isinstance(lorebook, Mapping) else None
    if isinstance(entries, Mapping):
        entries = list(entries.values())
    if not isinstance(entries, list):
        return None
    return [each for each in entries if isinstance(each, Mapping)]


def _parse_entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    more = raw.get("extensions")
    extra = {**more, **raw} if isinstance(more, Mapping) else dict(raw)
    keys = _parse_keys(extra.get("key", extra.get("keys")))
    logic = extra.get("selectiveLogic", extra.get("selective_logic", 0))
    second = _parse_keys(extra.get("keysecondary", extra.get("secondary_keys")))
    selective = bool(extra.get("selective", True))
    disabled = bool(extra.get("disable", not extra.get("enabled", True)))
    patterns = [key for key in keys if key.startswith("/") and key.rfind("/") > 0]
    regex = bool(extra.get("use_regex")) or bool(keys and len(patterns) == len(keys))
    scan_depth = _get_first(extra, "scanDepth", "scan_depth")
    return {
        "name": _parse_text(extra.get("comment") or extra.get("name"))[:NAME_LENGTH],
        "content": _parse_text(extra.get("content")),
        "keys": keys,
        "secondary_keys": second if selective else [],
        "secondary_logic": LOGIC.get(logic, "and_any") if isinstance(logic, int) else "and_any",
        "regex": regex,
        "case_sensitive": bool(_get_first(extra, "caseSensitive", "case_sensitive")),
        "whole_words": bool(_get_first(extra, "matchWholeWords", "match_whole_words")),
        "constant": bool(extra.get("constant")),
        "enabled": not disabled,
        "priority": _parse_number(extra.get("priority"), 0),
        "order": _parse_number(_get_first(extra, "order", "insertion_order"), 100),
        "budget_weight": 0.0 if extra.get("ignoreBudget") else 1.0,
        "scan_depth": None if scan_depth is None else _parse_turns(scan_depth),
        "recursive": not _get_first(extra, "preventRecursion", "prevent_recursion"),
        "recursable": not _get_first(extra, "excludeRecursion", "exclude_recursion"),
        "sticky": _parse_turns(extra.get("sticky")),
        "cooldown": _parse_turns(extra.get("cooldown")),
        "uid": _parse_text(_get_first(extra, "uid", "id"))[:100],
    }


def _get_first(raw: Mapping[str, Any], *names: str) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _parse_text(value: Any) -> str:
    return "" if value is None else str(value)


def _parse_keys(value: Any) -> list[str]:
    values: Sequence[Any] = value.split(",") if isinstance(value, str) else value or []
    if not isinstance(values, list):
        return []
    return [str(key).strip()[:KEY_LENGTH] for key in values if str(key).strip()]


def _parse_number(value: Any, default: int) -> int:
    fits = isinstance(value, int | float) and abs(value) < 2**31
    return int(value) if fits else default


def _parse_turns(value: Any) -> int:
    return min(max(_parse_number(value, 0), 0), 10_000)
