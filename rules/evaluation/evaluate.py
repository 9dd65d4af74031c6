"""Evaluation of a rule set, with and without one more rule. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rules.evaluation.matching import Compiled, Matched, RuleSet, Viewer
from rules.evaluation.policy import Policy, Voice, merged
from rules.evaluation.tool_selection import effect

FeedbackCounts = Mapping[str, tuple[int, int]]  # by rule: good and bad feedback


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What an agent is about to do, and what it could do it with."""

    context: Any
    viewer: Viewer = field(default_factory=Viewer)
    candidates: tuple[str, ...] = ()
    strict: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What a watching rule would have made of a question."""

    rule: str
    matched: bool
    changed: bool
    before: Mapping[str, Any]
    after: Mapping[str, Any]


def voices(rules: Sequence[Compiled], feedback_counts: FeedbackCounts) -> list[Voice]:
    return [one.voice(*feedback_counts.get(one.rule.id, (0, 0))) for one in rules]


def policy_of(rules: Sequence[Compiled], feedback_counts: FeedbackCounts) -> Policy:
    return merged(voices(rules, feedback_counts))


def observe(
    watcher: Compiled,
    question: Question,
    live: Sequence[Compiled],
    live_edition: Compiled | None,
    feedback_counts: FeedbackCounts,
) -> Observation | None:
    """Return the effect with this rule instead of its live edition, or None.

    `live` are the matching active rules. A rule that replaces a matching one has an effect even
    if it does not match.
    """
    if not watcher.addresses(question.viewer):
        return None
    matched = watcher.holds(question.context)
    if not matched and live_edition not in live:
        return None
    with_it = [one for one in live if one is not live_edition]
    if matched:
        with_it.append(watcher)
    before = effect(policy_of(live, feedback_counts), question.candidates, strict=question.strict)
    after = effect(policy_of(with_it, feedback_counts), question.candidates, strict=question.strict)
    return Observation(
        rule=watcher.rule.id,
        matched=matched,
        changed=before != after,
        before=before,
        after=after,
    )


def observe_all(
    rules: RuleSet, matched: Matched, question: Question, feedback_counts: FeedbackCounts
) -> list[Observation]:
    """Return the observation of each shadow rule."""
    replacing = [
        one
        for one in rules.replacing
        if one not in matched.watching and rules.live_editions[one.rule.lineage] in matched.live
    ]
    seen = (
        observe(
            one, question, matched.live, rules.live_editions.get(one.rule.lineage), feedback_counts
        )
        for one in (*matched.watching, *replacing)
    )
    return [one for one in seen if one]
