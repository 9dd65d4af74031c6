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
from functools import lru_cache
from typing import Any

import re2

PATTERN_MEMORY = 1 << 20  # bytes of one compiled pattern
LONGEST_SCAN = 200_000  # characters, from the end


class Logic(StrEnum):
    """Condition on the secondary keys."""

    AND_ANY = "and_any"
    AND_ALL = "and_all"
    NOT_ANY = "not_any"
    NOT_ALL = "not_all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One text, and when it fires. Keys with Han characters ignore `whole_words`."""

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
    priority: int = 0  # who finds room first: higher
    order: int = 100  # where it stands in the result: lower first
    budget_weight: float = 1.0  # its tokens count this many times; 0 counts nothing
    scope: str = ""  # "": in every scope
    scan_depth: int | None = None
    recursive: bool = True  # its text may call up others
    recursable: bool = True  # the text of others may call it up
    sticky: int = 0
    cooldown: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Limits of one evaluation."""

    budget: int = 1_000  # tokens
    scan_depth: int = 4  # messages
    max_recursion: int = 3  # rounds after the first; 0: none
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fired:
    """One entry that fired: why, in which round, and whether it found room."""

    entry: Entry
    reason: str  # constant | key | recursion | sticky
    match: str = ""  # the key that was found
    by: str = ""  # the entry whose text held it
    round: int = 0
    tokens: int = 0
    trimmed: str = ""  # "": it is in; else duplicate | budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """An entry whose keys were found, and why it still did not fire."""

    entry: Entry
    reason: str  # cooldown | secondary | scope | pattern


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What goes in, in order; all that fired; what was held back; and what to send next time."""

    included: Sequence[Fired]
    fired: Sequence[Fired]
    silent: Sequence[Silent]
    tokens: int
    state: Mapping[str, int] = field(default_factory=dict)  # the turn in which each fired last


def evaluate(
    entries: Iterable[Entry],
    messages: Sequence[str],
    *,
    rules: Rules,
    count: Callable[[str], int],
    state: Mapping[str, int] | None = None,
) -> Outcome:
    """Evaluate a lorebook over a conversation, oldest message first."""
    evaluation = _Evaluation(messages, rules, dict(state or {}))
    waiting = [entry for entry in entries if entry.enabled]
    fired = list(evaluation.first(waiting))
    depth, last = 0, fired
    while last and depth < rules.max_recursion:
        depth += 1
        newly_fired = [each for each in last if each.entry.recursive]
        gone = {each.entry.id for each in fired}
        last = list(evaluation.again([e for e in waiting if e.id not in gone], newly_fired, depth))
        fired += last
    placed = _placed(fired, rules.budget, count)
    included = sorted(
        (each for each in placed if not each.trimmed),
        key=lambda f: (f.entry.order, -f.entry.priority, f.entry.id),
    )
    return Outcome(
        included=included,
        fired=placed,
        silent=evaluation.silent,
        tokens=sum(each.tokens for each in included),
        state=evaluation.state_after(fired),
    )


class _Evaluation:
    """One look at a conversation."""

    def __init__(self, messages: Sequence[str], rules: Rules, state: dict[str, int]) -> None:
        self.messages, self.rules, self.state = messages, rules, state
        self.turn = len(messages)
        self.silent: list[Silent] = []

    def first(self, entries: Iterable[Entry]) -> Iterator[Fired]:
        for entry in entries:
            if self._stays(entry):
                yield Fired(entry=entry, reason="sticky")
            elif entry.constant and self._may(entry):
                yield Fired(entry=entry, reason="constant")
            elif (key := self._find_key(entry, self._recent(entry))) and self._may(entry):
                yield Fired(entry=entry, reason="key", match=key)

    def again(
        self, entries: Iterable[Entry], newly_fired: Sequence[Fired], depth: int
    ) -> Iterator[Fired]:
        """Yield the entries that the texts of the last round trigger."""
        for entry in entries:
            if not entry.recursable:
                continue
            for each in newly_fired:
                key = self._find_key(entry, each.entry.content)
                if key and self._may(entry):
                    yield Fired(
                        entry=entry, reason="recursion", match=key, by=each.entry.id, round=depth
                    )
                    break

    def state_after(self, fired: Iterable[Fired]) -> dict[str, int]:
        """When each fired last. Staying is not firing: it must end."""
        now = {each.entry.id: self.turn for each in fired if each.reason != "sticky"}
        return self.state | now

    def _recent(self, entry: Entry) -> str:
        depth = self.rules.scan_depth if entry.scan_depth is None else entry.scan_depth
        return "\n".join(self.messages[-depth:] if depth else ())[-LONGEST_SCAN:]

    def _since(self, entry: Entry) -> int | None:
        """Return the turns since an entry fired; foreign states are ignored."""
        last = self.state.get(entry.id)
        return self.turn - last if last is not None and last <= self.turn else None

    def _stays(self, entry: Entry) -> bool:
        since = self._since(entry)
        return since is not None and 0 < since <= entry.sticky and self._in_scope(entry)

    def _rests(self, entry: Entry) -> bool:
        since = self._since(entry)
        return since is not None and entry.sticky < since <= entry.sticky + entry.cooldown

    def _in_scope(self, entry: Entry) -> bool:
        return entry.scope in ("", self.rules.scope)

    def _may(self, entry: Entry) -> bool:
        if not self._in_scope(entry):
            return self._hold(entry, "scope")
        if self._rests(entry):
            return self._hold(entry, "cooldown")
        return True

    def _hold(self, entry: Entry, reason: str) -> bool:
        held = Silent(entry=entry, reason=reason)
        if held not in self.silent:
            self.silent.append(held)
        return False

    def _find_key(self, entry: Entry, text: str) -> str:
        """Return the matching key if the secondary keys agree."""
        try:
            key = next((key for key in entry.keys if _holds(entry, key, text)), "")
            if key and entry.secondary_keys and not _agrees(entry, text):
                self._hold(entry, "secondary")
                return ""
        except BadPattern:
            self._hold(entry, "pattern")
            return ""
        return key


def _agrees(entry: Entry, text: str) -> bool:
    secondary_matches = [_holds(entry, key, text) for key in entry.secondary_keys]
    match entry.secondary_logic:
        case Logic.AND_ALL:
            return all(secondary_matches)
        case Logic.NOT_ANY:
            return not any(secondary_matches)
        case Logic.NOT_ALL:
            return not all(secondary_matches)
        case _:
            return any(secondary_matches)


def _holds(entry: Entry, key: str, text: str) -> bool:
    if entry.regex:
        return compiled(key, case_sensitive=entry.case_sensitive).search(text) is not None
    if not entry.case_sensitive:
        key, text = key.casefold(), text.casefold()
    if not key.strip():
        return False
    if not entry.whole_words or any(_is_han(each) for each in key):
        return key in text
    return any(_is_whole_word(text, at, len(key)) for at in _places(text, key))


def _places(text: str, key: str) -> Iterator[int]:
    at = text.find(key)
    while at >= 0:
        yield at
        at = text.find(key, at + 1)


def _is_whole_word(text: str, at: int, length: int) -> bool:
    before, after = text[at - 1 : at], text[at + length : at + length + 1]
    return not any(side.isalnum() and not _is_han(side) for side in (before, after) if side)


def _is_han(character: str) -> bool:
    return "\u3400" <= character <= "\u9fff" or "\uf900" <= character <= "\ufaff"


class BadPattern(ValueError):
    """No pattern that the engine reads: it has no look-around and no back references."""


@lru_cache(maxsize=2_000)
def compiled(pattern: str, *, case_sensitive: bool) -> Any:
    """Return a compiled pattern, also from the form /pattern/flags."""
    flags = ""
    if pattern.startswith("/") and (end := pattern.rfind("/")) > 0:
        pattern, flags = pattern[1:end], pattern[end + 1 :]
        case_sensitive = "i" not in flags
    options = re2.Options()
    options.max_mem, options.log_errors = PATTERN_MEMORY, False
    options.case_sensitive = case_sensitive
    newly_fired = "".join(flag for flag in "ms" if flag in flags)
    try:
        return re2.compile(f"(?{newly_fired}){pattern}" if newly_fired else pattern, options)
    except (re2.error, UnicodeError) as error:
        raise BadPattern(str(error)) from error


def _placed(fired: Iterable[Fired], budget: int, count: Callable[[str], int]) -> list[Fired]:
    """All that fired, those who find room first; equal texts once."""
    ranked = sorted(fired, key=lambda f: (-f.entry.priority, f.entry.order, f.entry.id))
    placed, seen, left = [], set[str](), budget
    for each in ranked:
        text = " ".join(each.entry.content.split())
        tokens = count(each.entry.content)
        cost = math.ceil(tokens * each.entry.budget_weight)
        trimmed = "duplicate" if text in seen else "budget" if cost > left else ""
        if not trimmed:
            left -= cost
            seen.add(text)
        placed.append(replace(each, tokens=tokens, trimmed=trimmed))
    return placed
