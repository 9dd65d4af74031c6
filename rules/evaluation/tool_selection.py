"""Selection of tools by a rule set, with and without one more rule. Pure."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from rules.evaluation.equality import is_equal
from rules.evaluation.matching import SHADOW_SECONDS, CompiledRule, MatchResult, RuleSet, RuleViewer
from rules.evaluation.policy import Policy, merge_effects
from rules.evaluation.time_limit import TooSlow, check_time, limit_time

FeedbackCounts = Mapping[str, tuple[int, int]]  # by rule: good and bad feedback


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionRequest:
    """The context of an agent, and the tools it can select from."""

    context: Any
    viewer: RuleViewer = field(default_factory=RuleViewer)
    candidates: tuple[str, ...] = ()
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """The effect that a shadow rule would have had on a question."""

    rule: str
    matched: bool
    changed: bool
    before: Mapping[str, Any]
    after: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The result of a selection; the fallback names the list that excluded all candidates."""

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


def select_tool(policy: Policy, candidates: Sequence[str], *, strict: bool) -> Selection:
    """Select a tool. A strict selection that excludes all candidates has `selected` None."""
    names = tuple(dict.fromkeys(candidates))
    deny = frozenset(policy.deny)
    not_denied = tuple(name for name in names if name not in deny)
    allowed = (
        not_denied if policy.allow is None else tuple(n for n in not_denied if n in policy.allow)
    )
    reason, applied = "none", False
    if names and not not_denied:
        reason = "deny_filtered_all"
    elif not_denied and not allowed:
        reason = "allowlist_filtered_all"
        applied = not strict
    if applied:
        allowed = not_denied
    allowed_names = frozenset(allowed)
    preferred = tuple(name for name in policy.prefer if name in allowed_names)
    preferred_names = frozenset(preferred)
    return Selection(
        candidates=names,
        allowed=allowed,
        denied=tuple(
            (name, "deny_list" if name in deny else "not_in_allow_list")
            for name in names
            if name not in allowed_names
        ),
        preferred=preferred,
        ordered=preferred + tuple(name for name in allowed if name not in preferred_names),
        fallback_applied=applied,
        fallback_reason=reason,
    )


def build_effect(policy: Policy, candidates: Sequence[str], *, strict: bool) -> dict[str, Any]:
    """Return the externally visible effect of a policy, for comparison."""
    selection = select_tool(policy, candidates, strict=strict)
    return {**policy.values, "selected": selection.selected, "ordered": list(selection.ordered)}


def build_policy(rules: Sequence[CompiledRule], feedback_counts: FeedbackCounts) -> Policy:
    return merge_effects(
        [one.rank_effect(*feedback_counts.get(one.rule.id, (0, 0))) for one in rules]
    )


def observe_rule(
    shadow: CompiledRule,
    question: SelectionRequest,
    live: Sequence[CompiledRule],
    live_edition: CompiledRule | None,
    feedback_counts: FeedbackCounts,
) -> Observation | None:
    """Return the effect of a shadow rule in place of its live edition, or None if neither matches.

    `live` are the matching active rules. A rule that replaces a matching one has an effect even
    if it does not match, or is for another audience.
    """
    matched = shadow.applies_to(question.viewer) and shadow.matches(question.context)
    if not matched and live_edition not in live:
        return None
    with_shadow = [one for one in live if one is not live_edition]
    if matched:
        with_shadow.append(shadow)
    before, after = (
        build_effect(
            build_policy(rules, feedback_counts), question.candidates, strict=question.strict
        )
        for rules in (live, with_shadow)
    )
    return Observation(
        rule=shadow.rule.id,
        matched=matched,
        changed=not is_equal(before, after),
        before=before,
        after=after,
    )


def observe_rules(
    rules: RuleSet,
    matched: MatchResult,
    question: SelectionRequest,
    feedback_counts: FeedbackCounts,
) -> list[Observation]:
    """Return the observations of shadow rules, as many as can be evaluated in SHADOW_SECONDS."""
    editions = rules.live_editions
    live_ids = {one.rule.id for one in matched.live}
    shadow_ids = {one.rule.id for one in matched.shadow}
    shadow_editions = [
        one
        for one in rules.shadow_editions
        if one.rule.id not in shadow_ids and editions[one.rule.lineage].rule.id in live_ids
    ]
    observations = []
    with limit_time(SHADOW_SECONDS), suppress(TooSlow):
        for one in (*matched.shadow, *shadow_editions):
            check_time()
            live_edition = editions.get(one.rule.lineage)
            observation = observe_rule(one, question, matched.live, live_edition, feedback_counts)
            if observation:
                observations.append(observation)
    return observations
