"""What changed between two texts: in words, or characters where a script writes no spaces."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import Literal

Kind = Literal["same", "added", "removed"]
Change = tuple[Kind, str]

# Han, kana and their punctuation go one by one; other words, and runs of spaces, hold together.
_SPACELESS = (
    "\u2e80-\u2fdf\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f"
)
_TOKEN = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+|\s+|[^\w\s]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_MOST_TOKENS = 3000  # beyond this, lines are the pieces
# Steps of one comparison. Repeated pieces make the matcher cubic: what it did not reach in time
# is shown as taken out and put in whole.
_MOST_STEPS = 600_000


class _Matcher(SequenceMatcher[str]):
    """Stops looking for what stayed when its steps are used up. Spaces follow their words."""

    def __init__(self, before: Sequence[str], after: Sequence[str]) -> None:
        super().__init__(isjunk=str.isspace, a=before, b=after, autojunk=False)
        often = Counter(piece for piece in after if not piece.isspace())
        self._steps = list(accumulate((1 + often[piece] for piece in before), initial=0))
        self._left = _MOST_STEPS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        self._left -= self._steps[-1 if ahi is None else ahi] - self._steps[alo]
        if self._left < 0:
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)


def changes(old: str, new: str) -> list[Change]:
    """Pieces that, joined without the added ones, give `old`; without the removed ones, `new`."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(before), len(after)) > _MOST_TOKENS:
        before, after = _LINE.findall(old), _LINE.findall(new)
    return list(_compare(before, after))


def _compare(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    """What both begin and end with stayed; the matcher looks only at what lies between."""
    head = _alike(before, after)
    most = min(len(before), len(after)) - head
    tail = _alike(before[::-1][:most], after[::-1])
    if head:
        yield "same", "".join(before[:head])
    yield from _between(before[head : len(before) - tail], after[head : len(after) - tail])
    if tail:
        yield "same", "".join(before[len(before) - tail :])


def _alike(before: Sequence[str], after: Sequence[str]) -> int:
    """How many pieces both begin with."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((i for i, (old, new) in pairs if old != new), min(len(before), len(after)))


def _between(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    removed = added = ""
    for tag, a_from, a_to, b_from, b_to in _Matcher(before, after).get_opcodes():
        gone, come = "".join(before[a_from:a_to]), "".join(after[b_from:b_to])
        # A space alone between two changes belongs to them: phrases change, not words.
        if tag != "equal" or ((removed or added) and gone.isspace()):
            removed, added = removed + gone, added + come
            continue
        yield from _flush(removed, added)
        removed = added = ""
        yield "same", gone
    yield from _flush(removed, added)


def _flush(removed: str, added: str) -> Iterator[Change]:
    """One change. Where both sides end with the same space, that space stayed."""
    kept = removed[len(removed.rstrip()) :]
    if not added.endswith(kept):
        kept = ""
    if gone := removed.removesuffix(kept):
        yield "removed", gone
    if come := added.removesuffix(kept):
        yield "added", come
    if kept:
        yield "same", kept
