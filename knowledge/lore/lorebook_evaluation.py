"""Evaluation of lorebook entries: which entries fire and which of them fit the budget. Pure.

An entry fires when the last messages contain one of its keys and its secondary keys agree, or when
the text of an entry of an earlier round does. It stays active for `sticky` turns and then rests for
`cooldown` turns. Entries are added by priority until the budget is used up. Patterns are RE2, which
matches in linear time.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache
from typing import Any

import re2

MAX_PATTERN_MEMORY = 1 << 20  # bytes of one compiled pattern
MAX_SCAN_LENGTH = 200_000  # characters, from the end


class Logic(StrEnum):
    AND_ANY = "and_any"
    AND_ALL = "and_all"
    NOT_ANY = "not_any"
    NOT_ALL = "not_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A text with its triggers. Keys with Han characters ignore `whole_words`."""

    id: str
    content: str
    keys: Sequence[str] = ()
    secondary_keys: Sequence[str] = ()
    secondary_logic: str = Logic.AND_ANY
    regex: bool = False
    case_sensitive: bool = False
    whole_words: bool = False
    constant: bool = False
    enabled: bool = True
    priority: int = 0  # entries of higher priority get the budget first
    order: int = 100  # position in the result, lowest first
    budget_weight: float = 1.0  # factor by which its tokens count against the budget
    scope: str = ""  # "" for every scope
    scan_depth: int | None = None
    recursive: bool = True  # its text can fire other entries
    recursable: bool = True  # the text of other entries can fire it
    sticky: int = 0
    cooldown: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSettings:
    budget: int = 1_000  # tokens
    scan_depth: int = 4  # messages
    max_recursion: int = 3  # rounds after the first
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggeredEntry:
    entry: Entry
    reason: str  # constant | key | recursion | sticky
    match: str = ""  # the matching key
    by: str = ""  # id of the entry whose text contains the key
    round: int = 0
    tokens: int = 0
    trimmed: str = ""  # reason for leaving it out: duplicate | budget


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedEntry:
    """An entry whose keys match but that did not fire."""

    entry: Entry
    reason: str  # cooldown | secondary | scope | pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerResult:
    included: Sequence[TriggeredEntry]  # in the order of the result
    triggered: Sequence[TriggeredEntry]
    suppressed: Sequence[SuppressedEntry]
    tokens: int
    # By id of the entry, the turn in which it fired last: the `state` of the next evaluation.
    state: Mapping[str, int] = field(default_factory=dict)


def evaluate_lorebook(
    entries: Iterable[Entry],
    messages: Sequence[str],
    *,
    settings: TriggerSettings,
    count_tokens: Callable[[str], int],
    state: Mapping[str, int] | None = None,
) -> TriggerResult:
    """Evaluate a lorebook over a conversation, oldest message first."""
    evaluation = _Evaluation(messages, settings, dict(state or {}))
    enabled = [entry for entry in entries if entry.enabled]
    triggered = list(evaluation.match_conversation(enabled))
    last = triggered
    for number in range(1, settings.max_recursion + 1):
        sources = [each for each in last if each.entry.recursive]
        triggered_ids = {each.entry.id for each in triggered}
        rest = [entry for entry in enabled if entry.id not in triggered_ids]
        last = list(evaluation.match_entries(rest, sources, number))
        triggered += last
    ranked = _apply_budget(triggered, settings.budget, count_tokens)
    included = sorted(
        (each for each in ranked if not each.trimmed),
        key=lambda f: (f.entry.order, -f.entry.priority, f.entry.id),
    )
    # An entry that is active because it is sticky does not fire again, or it would stay forever.
    fired_now = {each.entry.id: len(messages) for each in triggered if each.reason != "sticky"}
    return TriggerResult(
        included=included,
        triggered=ranked,
        suppressed=list(evaluation.suppressed.values()),
        tokens=sum(each.tokens for each in included),
        state=evaluation.state | fired_now,
    )


class _Evaluation:
    def __init__(
        self, messages: Sequence[str], settings: TriggerSettings, state: dict[str, int]
    ) -> None:
        self.messages, self.settings, self.state = messages, settings, state
        self.suppressed: dict[tuple[str, str], SuppressedEntry] = {}
        self.fold = cache(str.casefold)  # once per text, because there may be thousands of keys

    def _join_recent(self, depth: int) -> str:
        return "\n".join(self.messages[-depth:] if depth else ())[-MAX_SCAN_LENGTH:]

    def match_conversation(self, entries: Iterable[Entry]) -> Iterator[TriggeredEntry]:
        join_recent = cache(self._join_recent)
        for entry in entries:
            depth = self.settings.scan_depth if entry.scan_depth is None else entry.scan_depth
            recent = join_recent(depth)
            if 0 < self._turns_since(entry) <= entry.sticky and self._in_scope(entry):
                yield TriggeredEntry(entry=entry, reason="sticky")
            elif entry.constant and self._may_trigger(entry):
                yield TriggeredEntry(entry=entry, reason="constant")
            elif (key := self._find_key(entry, recent)) and self._may_trigger(entry):
                yield TriggeredEntry(entry=entry, reason="key", match=key)

    def match_entries(
        self, entries: Iterable[Entry], sources: Sequence[TriggeredEntry], number: int
    ) -> Iterator[TriggeredEntry]:
        """Yield the entries that the texts of the last round trigger."""
        for entry in entries:
            for each in sources if entry.recursable else ():
                key = self._find_key(entry, each.entry.content)
                if key and self._may_trigger(entry):
                    yield TriggeredEntry(
                        entry=entry, reason="recursion", match=key, by=each.entry.id, round=number
                    )
                    break

    def _turns_since(self, entry: Entry) -> int:
        """Return the turns since an entry fired, or -1; turns in the future are ignored."""
        now = len(self.messages)
        return max(-1, now - self.state.get(entry.id, now + 1))

    def _in_scope(self, entry: Entry) -> bool:
        return entry.scope in ("", self.settings.scope)

    def _may_trigger(self, entry: Entry) -> bool:
        if not self._in_scope(entry):
            return self._suppress(entry, "scope")
        if entry.sticky < self._turns_since(entry) <= entry.sticky + entry.cooldown:
            return self._suppress(entry, "cooldown")
        return True

    def _suppress(self, entry: Entry, reason: str) -> bool:
        self.suppressed.setdefault((entry.id, reason), SuppressedEntry(entry=entry, reason=reason))
        return False

    def _find_key(self, entry: Entry, text: str) -> str:
        """Return the matching key if the secondary keys agree."""
        try:
            key = next((key for key in entry.keys if _matches(entry, key, text, self.fold)), "")
            if key and entry.secondary_keys:
                matches = [_matches(entry, each, text, self.fold) for each in entry.secondary_keys]
                if not LOGIC_CHECKS.get(entry.secondary_logic, any)(matches):
                    self._suppress(entry, "secondary")
                    return ""
        except InvalidPattern:
            self._suppress(entry, "pattern")
            return ""
        return key


LOGIC_CHECKS: Mapping[str, Callable[[Sequence[bool]], bool]] = {
    Logic.AND_ANY: any,
    Logic.AND_ALL: all,
    Logic.NOT_ANY: lambda matches: not any(matches),
    Logic.NOT_ALL: lambda matches: not all(matches),
}


def _matches(entry: Entry, key: str, text: str, fold: Callable[[str], str]) -> bool:
    if entry.regex:
        return compile_pattern(key, case_sensitive=entry.case_sensitive).search(text) is not None
    if not entry.case_sensitive:
        key, text = key.casefold(), fold(text)
    if not key.strip():
        return False
    if not entry.whole_words or any(_is_han(each) for each in key):
        return key in text
    at = text.find(key)
    while at >= 0:
        end = at + len(key)
        sides = text[at - 1 : at] + text[end : end + 1]
        if not any(side.isalnum() and not _is_han(side) for side in sides):
            return True
        at = text.find(key, at + 1)
    return False


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff"


class InvalidPattern(ValueError):
    """The pattern is not valid in RE2, which has no look-around and no back references."""


@lru_cache(maxsize=2_000)
def compile_pattern(pattern: str, *, case_sensitive: bool) -> Any:
    """Return a compiled pattern, also from the form /pattern/flags."""
    flags = ""
    if pattern.startswith("/") and (end := pattern.rfind("/")) > 0:
        pattern, flags = pattern[1:end], pattern[end + 1 :]
        case_sensitive = "i" not in flags
    options = re2.Options()
    options.max_mem, options.log_errors = MAX_PATTERN_MEMORY, False
    options.case_sensitive = case_sensitive
    inline_flags = "".join(flag for flag in "ms" if flag in flags)
    try:
        return re2.compile(f"(?{inline_flags}){pattern}" if inline_flags else pattern, options)
    except (re2.error, UnicodeError) as error:
        raise InvalidPattern(str(error)) from error


def _apply_budget(
    triggered: Iterable[TriggeredEntry], budget: int, count_tokens: Callable[[str], int]
) -> list[TriggeredEntry]:
    """Mark duplicates and the entries that exceed the budget, highest priority first."""
    ranked = sorted(triggered, key=lambda f: (-f.entry.priority, f.entry.order, f.entry.id))
    marked, seen, remaining = [], set[str](), budget
    for each in ranked:
        text = " ".join(each.entry.content.split())
        tokens = count_tokens(each.entry.content)
        cost = math.ceil(tokens * each.entry.budget_weight)
        trimmed = "duplicate" if text in seen else "budget" if cost > remaining else ""
        if not trimmed:
            remaining -= cost
            seen.add(text)
        marked.append(replace(each, tokens=tokens, trimmed=trimmed))
    return marked
