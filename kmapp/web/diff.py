"""What changed between two texts: in words, or characters where a script writes no spaces."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
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
# The matcher's work grows with the square of the pieces; beyond this, lines are the pieces.
_MOST_TOKENS = 3000


def changes(old: str, new: str) -> list[Change]:
    """Pieces that, joined without the added ones, give `old`; without the removed ones, `new`."""
    before, after = _TOKEN.findall(old), _TOKEN.findall(new)
    if max(len(before), len(after)) > _MOST_TOKENS:
        before, after = _LINE.findall(old), _LINE.findall(new)
    return list(_compare(before, after))


def _compare(before: Sequence[str], after: Sequence[str]) -> Iterator[Change]:
    removed = added = ""
    for tag, a_from, a_to, b_from, b_to in SequenceMatcher(
        a=before, b=after, autojunk=False
    ).get_opcodes():
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
