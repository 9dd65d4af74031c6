"""Differences between two texts, by words, or by characters in scripts without spaces."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import Literal

Kind = Literal["same", "added", "removed"]
Change = tuple[Kind, str]

# Han, kana and their punctuation are single tokens; other words and runs of spaces stay whole.
_SPACELESS = (
    "\u2e80-\u2fdf\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff00-\uffef\U00020000-\U0003134f"
)
_TOKEN = re.compile(rf"[{_SPACELESS}]|[^\W{_SPACELESS}]+|\s+|[^\w\s]")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
FOLD = "\n…\n"
_MAX_UNCHANGED, _EDGE = 400, 120  # characters of an unchanged piece; of its ends if it is folded
_MAX_TOKENS = 3000  # longer texts are compared by lines
# Repeated pieces make the matcher cubic. What it does not reach within these steps is displayed as
# removed and added in whole.
_MAX_STEPS = 600_000


class BoundedSequenceMatcher(SequenceMatcher[str]):
    """A matcher that stops when its steps are used up. What it does not reach is a difference."""

    b2j: dict[str, list[int]]

    def __init__(
        self,
        isjunk: Callable[[str], bool] | None = None,
        a: Sequence[str] = "",
        b: Sequence[str] = "",
        autojunk: bool = True,  # noqa: FBT001, FBT002 - as in `difflib`
    ) -> None:
        super().__init__(isjunk, a, b, autojunk)
        # `b2j` holds the positions of a piece in `b`; it has no junk.
        costs = (1 + len(self.b2j.get(piece, ())) for piece in a)
        self._steps = list(accumulate(costs, initial=0))
        self._remaining_steps = _MAX_STEPS

    def find_longest_match(
        self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None
    ) -> Match:
        self._remaining_steps -= self._steps[-1 if ahi is None else ahi] - self._steps[alo]
        if self._remaining_steps < 0:
            return Match(alo, blo, 0)
        return super().find_longest_match(alo, ahi, blo, bhi)


def diff_pieces(old: str, new: str) -> list[Change]:
    """Return pieces that give `old` without the added ones and `new` without the removed ones."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(before), len(after)) > _MAX_TOKENS:
        before, after = _LINE.findall(old), _LINE.findall(new)
    return list(_compare_trimmed(before, after))


def fold(changes: Iterable[Change]) -> Iterator[Change]:
    """Replace the middle of long unchanged pieces by `FOLD`."""
    for kind, text in changes:
        if kind != "same" or len(text) <= _MAX_UNCHANGED:
            yield kind, text
            continue
        yield kind, text[:_EDGE]
        yield kind, FOLD
        yield kind, text[-_EDGE:]


def _compare_trimmed(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    """Skip the common prefix and suffix; run the matcher on what is in between."""
    head = _count_common_prefix(before, after)
    longest = min(len(before), len(after)) - head
    tail = _count_common_prefix(before[::-1][:longest], after[::-1])
    if head:
        yield "same", "".join(before[:head])
    yield from _compare_middle(before[head : len(before) - tail], after[head : len(after) - tail])
    if tail:
        yield "same", "".join(before[len(before) - tail :])


def _count_common_prefix(before: Sequence[str], after: Sequence[str]) -> int:
    """Return the number of pieces at the start of both."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((i for i, (old, new) in pairs if old != new), min(len(before), len(after)))


def _compare_middle(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    removed = added = ""
    matcher = BoundedSequenceMatcher(str.isspace, before, after, autojunk=False)
    for tag, a_from, a_to, b_from, b_to in matcher.get_opcodes():
        old_text, new_text = "".join(before[a_from:a_to]), "".join(after[b_from:b_to])
        # A lone space between two changes joins them, so that phrases change and not single words.
        if tag != "equal" or ((removed or added) and old_text.isspace()):
            removed, added = removed + old_text, added + new_text
            continue
        yield from _yield_change(removed, added)
        removed = added = ""
        yield "same", old_text
    yield from _yield_change(removed, added)


def _yield_change(removed: str, added: str) -> Iterator[Change]:
    """Yield one change. A space at the end of both sides is unchanged."""
    space = removed[len(removed.rstrip()) :]
    if not added.endswith(space):
        space = ""
    if text := removed.removesuffix(space):
        yield "removed", text
    if text := added.removesuffix(space):
        yield "added", text
    if space:
        yield "same", space
