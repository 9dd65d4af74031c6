"""Import of SillyTavern lorebooks and character cards. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

LOGIC = {0: "and_any", 1: "not_all", 2: "not_any", 3: "and_all"}
NAME_LENGTH, KEY_LENGTH = 200, 500  # characters


class NoLorebook(ValueError):
    """The file has no “entries”, so it is not a lorebook."""


def entries_of(book: Any) -> list[dict[str, Any]]:
    """Return the entries of a world-info file, a character card or a character book."""
    entries = _entries(book)
    if entries is None:
        raise NoLorebook
    return [_entry(each) for each in entries if _text(each.get("content")).strip()]


def _entries(book: Any) -> list[Mapping[str, Any]] | None:
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


def _entry(raw: Mapping[str, Any]) -> dict[str, Any]:
    more = raw.get("extensions")
    extra = {**more, **raw} if isinstance(more, Mapping) else dict(raw)
    keys = _keys(extra.get("key", extra.get("keys")))
    logic = extra.get("selectiveLogic", extra.get("selective_logic", 0))
    second = _keys(extra.get("keysecondary", extra.get("secondary_keys")))
    selective = bool(extra.get("selective", True))
    disabled = bool(extra.get("disable", not extra.get("enabled", True)))
    patterns = [key for key in keys if key.startswith("/") and key.rfind("/") > 0]
    regex = bool(extra.get("use_regex")) or bool(keys and len(patterns) == len(keys))
    scan_depth = _first(extra, "scanDepth", "scan_depth")
    return {
        "name": _text(extra.get("comment") or extra.get("name"))[:NAME_LENGTH],
        "content": _text(extra.get("content")),
        "keys": keys,
        "secondary_keys": second if selective else [],
        "secondary_logic": LOGIC.get(logic, "and_any") if isinstance(logic, int) else "and_any",
        "regex": regex,
        "case_sensitive": bool(_first(extra, "caseSensitive", "case_sensitive")),
        "whole_words": bool(_first(extra, "matchWholeWords", "match_whole_words")),
        "constant": bool(extra.get("constant")),
        "enabled": not disabled,
        "priority": _number(extra.get("priority"), 0),
        "order": _number(_first(extra, "order", "insertion_order"), 100),
        "budget_weight": 0.0 if extra.get("ignoreBudget") else 1.0,
        "scan_depth": None if scan_depth is None else _turns(scan_depth),
        "recursive": not _first(extra, "preventRecursion", "prevent_recursion"),
        "recursable": not _first(extra, "excludeRecursion", "exclude_recursion"),
        "sticky": _turns(extra.get("sticky")),
        "cooldown": _turns(extra.get("cooldown")),
        "uid": _text(_first(extra, "uid", "id"))[:100],
    }


def _first(raw: Mapping[str, Any], *names: str) -> Any:
    return next((raw[name] for name in names if raw.get(name) is not None), None)


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _keys(value: Any) -> list[str]:
    values: Sequence[Any] = value.split(",") if isinstance(value, str) else value or []
    if not isinstance(values, list):
        return []
    return [str(key).strip()[:KEY_LENGTH] for key in values if str(key).strip()]


def _number(value: Any, otherwise: int) -> int:
    fits = isinstance(value, int | float) and abs(value) < 2**31
    return int(value) if fits else otherwise


def _turns(value: Any) -> int:
    return min(max(_number(value, 0), 0), 10_000)
