"""Weak signals: ordinary words that memories seldom combine unless they address a model.

Three groups of words in one text, one of them an order or an address, are suspicious.
"""

from collections.abc import Iterable

from kmapp.security.prompt_injection.prefiltered_patterns import load_patterns

_MIN_GROUPS = 3
_MAX_LENGTH = 240  # characters; in a longer text three groups occur by chance

GROUPS = load_patterns("weak_signals.toml")


def has_weak_signals(lower: str) -> bool:
    """Return whether a folded text in lower case combines enough groups of words."""
    if len(lower) > _MAX_LENGTH:
        return False
    if not _groups(lower, {"addresses", "orders"}):  # as in most texts
        return False
    groups = _groups(lower, GROUPS)
    is_addressed = groups & {"addresses", "frame", "this_text"}
    about_models = groups & {"frame", "model", "this_text"}
    return bool(is_addressed and about_models) and len(groups) >= _MIN_GROUPS


def _groups(lower: str, names: Iterable[str]) -> set[str]:
    return {name for name in names if any(each.search(lower) for each in GROUPS[name])}
