"""Weak Chinese signals: cues that ordinary text seldom combines in so few characters.

A pointed cue asks or persuades a model and counts double. A span of text with one of these, and
with enough others, is suspicious.
"""

from collections import Counter

from kmapp.security.prompt_injection.prefiltered_patterns import has_chinese, load_patterns

_SPAN = 80  # characters before and after a pointed cue
_MIN_POINTS = 4
_POINTED = {"to_model", "second_person", "pretext"}

GROUPS = {
    name: [each.expression for each in rows]
    for name, rows in load_patterns("weak_signals_zh.toml").items()
}


def has_chinese_signals(lower: str) -> bool:
    """Return whether a folded text in lower case combines enough cues."""
    if not has_chinese(lower):
        return False
    pointed = _find(lower, _POINTED)
    return bool(pointed) and _are_close(sorted([*pointed, *_find(lower, GROUPS.keys() - _POINTED)]))


def _find(lower: str, names: set[str]) -> list[tuple[int, str]]:
    """Return the places of the cues of these groups."""
    return [
        (match.start(), name)
        for name in names
        for expression in GROUPS[name]
        for match in expression.finditer(lower)
    ]


def _are_close(cues: list[tuple[int, str]]) -> bool:
    """Return whether a pointed cue has enough others in its span; `cues` are in order."""
    neighbours: Counter[str] = Counter()
    start = end = 0
    for place, name in cues:
        if name not in _POINTED:
            continue
        while end < len(cues) and cues[end][0] <= place + _SPAN:
            neighbours[cues[end][1]] += 1
            end += 1
        while cues[start][0] < place - _SPAN:
            neighbours[cues[start][1]] -= 1
            start += 1
        names = {each for each, count in neighbours.items() if count}
        if len(names) + len(names & _POINTED) >= _MIN_POINTS:
            return True
    return False
