"""Matching of a context against thousands of compiled rules. Pure.

Most rules require one text at some path. Such a rule is indexed by path and text, and tried only if
the context has the text there; the others are tried one by one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from rules.evaluation.conditions import Condition, compiled, lookup
from rules.evaluation.policy import Rank, RankedEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """The user, agent and app of a request; an empty id matches no audience."""

    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
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
class Compiled:
    rule: Written
    condition: Condition
    exceptions: tuple[Condition, ...]

    def addresses(self, viewer: Viewer) -> bool:
        rule = self.rule
        if rule.scope != viewer.scope:
            return False
        if rule.audience == "account":
            return True
        return bool(rule.audience_id) and rule.audience_id == getattr(viewer, f"{rule.audience}_id")

    def holds(self, context: Any) -> bool:
        return self.condition.holds(context) and not any(
            one.holds(context) for one in self.exceptions
        )

    def ranked(self, positive: int, negative: int) -> RankedEffect:
        rank = Rank(
            priority=self.rule.priority,
            weight=self.rule.weight,
            positive=positive,
            negative=negative,
            specificity=len(self.condition.paths),
        )
        age = (self.rule.created_at,)
        return RankedEffect(id=self.rule.id, then=self.rule.then, rank=rank, age=age)


def compile_rule(rule: Written) -> Compiled:
    return Compiled(rule, compiled(rule.when), tuple(compiled(each) for each in rule.exceptions))


@dataclass(frozen=True, slots=True, kw_only=True)
class Matched:
    """The matching rules, and the number of rules for this viewer."""

    considered: int
    live: tuple[Compiled, ...]
    watching: tuple[Compiled, ...]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The active and shadow rules of an account, with an index."""

    rules: tuple[Compiled, ...]
    filed: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    others: list[int] = field(default_factory=list)
    addressed: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    live_editions: dict[str, Compiled] = field(default_factory=dict)  # by lineage
    replacing: list[Compiled] = field(default_factory=list)  # in shadow, with an active edition

    def match(self, context: Any, viewer: Viewer) -> Matched:
        candidates = [self.rules[place] for place in sorted(self._candidates(context))]
        holding = [one for one in candidates if one.addresses(viewer) and one.holds(context)]
        return Matched(
            considered=self.considered(viewer),
            live=tuple(one for one in holding if one.rule.live),
            watching=tuple(one for one in holding if not one.rule.live),
        )

    def considered(self, viewer: Viewer) -> int:
        """Return the number of rules for this viewer, whether they match or not."""
        scope = viewer.scope
        named = ((kind, getattr(viewer, f"{kind}_id")) for kind in ("user", "agent", "app"))
        keys = [(scope, "account", ""), *((scope, kind, each) for kind, each in named if each)]
        return sum(self.addressed[key] for key in keys)

    def _candidates(self, context: Any) -> Iterator[int]:
        yield from self.others
        for path, by_text in self.filed.items():
            text = lookup(context, path)
            if isinstance(text, str) and text in by_text:
                yield from by_text[text]


def rule_set(rules: Iterable[Compiled]) -> RuleSet:
    """Index each rule by the rarest equality that it requires."""
    compiled_set = RuleSet(tuple(rules))
    common = Counter(need for one in compiled_set.rules for need in one.condition.needs)
    for place, one in enumerate(compiled_set.rules):
        if one.condition.needs:
            path, text = min(one.condition.needs, key=lambda need: (common[need], need))
            compiled_set.filed.setdefault(path, {}).setdefault(text, []).append(place)
        else:
            compiled_set.others.append(place)
        rule = one.rule
        audience_key = "" if rule.audience == "account" else rule.audience_id
        compiled_set.addressed[rule.scope, rule.audience, audience_key] += 1
        if rule.live:
            compiled_set.live_editions[rule.lineage] = one
    compiled_set.replacing.extend(
        one
        for one in compiled_set.rules
        if not one.rule.live and one.rule.lineage in compiled_set.live_editions
    )
    return compiled_set
