"""Matching of a context against thousands of compiled rules. Pure.

Most rules require one text at some path. Such a rule is indexed by path and text, and tried only if
the context has the text there; the others are tried one by one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from rules.evaluation.conditions import Condition, compile_condition, find_value
from rules.evaluation.policy import Rank, RankedEffect
from rules.evaluation.time_limit import TooSlow, check_time, limit_time

SHADOW_SECONDS = 1.0  # processor time that the shadow rules may take for one context


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleViewer:
    """The user, agent and app of a request; an empty id matches no audience."""

    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleDefinition:
    id: str
    lineage: str  # shared by the editions of one rule
    name: str
    live: bool  # active; otherwise in shadow
    when: Mapping[str, Any]
    then: Mapping[str, Any]
    exceptions: tuple[Mapping[str, Any], ...]
    priority: int
    weight: float
    audience: str
    audience_id: str
    scope: str
    created_at: datetime
    commit_id: UUID


@dataclass(frozen=True, slots=True)
class CompiledRule:
    rule: RuleDefinition
    condition: Condition
    exceptions: tuple[Condition, ...]

    def applies_to(self, viewer: RuleViewer) -> bool:
        rule = self.rule
        if rule.scope != viewer.scope:
            return False
        if rule.audience == "account":
            return True
        return bool(rule.audience_id) and rule.audience_id == getattr(viewer, f"{rule.audience}_id")

    def matches(self, context: Any) -> bool:
        return self.condition.matches(context) and not any(
            one.matches(context) for one in self.exceptions
        )

    def rank_effect(self, positive: int, negative: int) -> RankedEffect:
        rank = Rank(
            priority=self.rule.priority,
            weight=self.rule.weight,
            positive=positive,
            negative=negative,
            specificity=len(self.condition.paths),
        )
        age = (self.rule.created_at,)
        return RankedEffect(id=self.rule.id, then=self.rule.then, rank=rank, age=age)


def compile_rule(rule: RuleDefinition) -> CompiledRule:
    return CompiledRule(
        rule,
        compile_condition(rule.when),
        tuple(compile_condition(each) for each in rule.exceptions),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchResult:
    """The matching rules, and the number of rules for this viewer."""

    considered: int
    live: tuple[CompiledRule, ...]
    shadow: tuple[CompiledRule, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The active and shadow rules of an account, with an index."""

    rules: tuple[CompiledRule, ...]
    index: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    unindexed: list[int] = field(default_factory=list)
    audience_counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    live_editions: dict[str, CompiledRule] = field(default_factory=dict)  # by lineage
    shadow_editions: list[CompiledRule] = field(
        default_factory=list
    )  # in shadow, with an active edition

    def match(self, context: Any, viewer: RuleViewer, *, with_shadow: bool = True) -> MatchResult:
        """Return the matching rules; without `with_shadow`, no shadow rule is evaluated."""
        candidates = [self.rules[position] for position in sorted(self._candidates(context))]
        candidates = [one for one in candidates if one.applies_to(viewer)]
        return MatchResult(
            considered=self.considered(viewer),
            live=tuple(one for one in candidates if one.rule.live and one.matches(context)),
            shadow=tuple(_match_shadow(candidates, context)) if with_shadow else (),
        )

    def considered(self, viewer: RuleViewer) -> int:
        """Return the number of rules for this viewer, whether they match or not."""
        scope = viewer.scope
        named = ((kind, getattr(viewer, f"{kind}_id")) for kind in ("user", "agent", "app"))
        keys = [(scope, "account", ""), *((scope, kind, each) for kind, each in named if each)]
        return sum(self.audience_counts[key] for key in keys)

    def _candidates(self, context: Any) -> Iterator[int]:
        yield from self.unindexed
        for path, by_text in self.index.items():
            text = find_value(context, path)
            if isinstance(text, str) and text in by_text:
                yield from by_text[text]


def _match_shadow(candidates: Iterable[CompiledRule], context: Any) -> list[CompiledRule]:
    """Return the matching shadow rules, as many as can be evaluated in SHADOW_SECONDS.

    They have no effect, and any agent may write them, so a request must not wait long for them.
    """
    matching = []
    with limit_time(SHADOW_SECONDS), suppress(TooSlow):
        for one in candidates:
            check_time()
            if not one.rule.live and one.matches(context):
                matching.append(one)
    return matching


def build_rule_set(rules: Iterable[CompiledRule]) -> RuleSet:
    """Index each rule by the rarest equality that it requires."""
    rule_set = RuleSet(tuple(rules))
    frequency = Counter(equality for one in rule_set.rules for equality in one.condition.equalities)
    for position, one in enumerate(rule_set.rules):
        if one.condition.equalities:
            path, text = min(
                one.condition.equalities, key=lambda equality: (frequency[equality], equality)
            )
            rule_set.index.setdefault(path, {}).setdefault(text, []).append(position)
        else:
            rule_set.unindexed.append(position)
        rule = one.rule
        audience_key = "" if rule.audience == "account" else rule.audience_id
        rule_set.audience_counts[rule.scope, rule.audience, audience_key] += 1
        if rule.live:
            rule_set.live_editions[rule.lineage] = one
    rule_set.shadow_editions.extend(
        one
        for one in rule_set.rules
        if not one.rule.live and one.rule.lineage in rule_set.live_editions
    )
    return rule_set
