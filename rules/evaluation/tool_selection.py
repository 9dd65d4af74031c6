"""Tool selection under a policy. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rules.evaluation.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What became of the candidates. `fallback` says which list emptied them, and what was done."""

    candidates: tuple[str, ...]
    allowed: tuple[str, ...]
    denied: tuple[tuple[str, str], ...]  # the tool, and why
    preferred: tuple[str, ...]
    ordered: tuple[str, ...]
    fallback_applied: bool
    fallback_reason: str  # none, allowlist_filtered_all, deny_filtered_all

    @property
    def selected(self) -> str | None:
        return self.ordered[0] if self.ordered else None


def select(policy: Policy, candidates: Sequence[str], *, strict: bool) -> Selection:
    """Never refuses: a strict selection that leaves nothing has `selected` None."""
    names = tuple(dict.fromkeys(candidates))
    deny = frozenset(policy.deny)
    left = tuple(name for name in names if name not in deny)
    allowed = left if policy.allow is None else tuple(n for n in left if n in policy.allow)
    reason, applied = "none", False
    if names and not left:
        reason = "deny_filtered_all"
    elif left and not allowed:
        reason = "allowlist_filtered_all"
        applied = not strict
    if applied:
        allowed = left
    chosen = frozenset(allowed)
    preferred = tuple(name for name in policy.prefer if name in chosen)
    liked = frozenset(preferred)
    return Selection(
        candidates=names,
        allowed=allowed,
        denied=tuple(
            (name, "deny_list" if name in deny else "not_in_allow_list")
            for name in names
            if name not in chosen
        ),
        preferred=preferred,
        ordered=preferred + tuple(name for name in allowed if name not in liked),
        fallback_applied=applied,
        fallback_reason=reason,
    )


def effect(policy: Policy, candidates: Sequence[str], *, strict: bool) -> dict[str, Any]:
    """Return the externally visible effect of a policy, for comparison."""
    chosen = select(policy, candidates, strict=strict)
    return {**policy.values, "selected": chosen.selected, "ordered": list(chosen.ordered)}
