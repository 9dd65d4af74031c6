"""The combined policy of matching rules. Pure.

Rules are merged in ascending rank, so that the higher one wins where two set different values;
tools are denied by any rule, allowed only by all, and preferred in descending rank.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rules.evaluation.equality import is_equal

PRIORITY_WEIGHT = 1000
EVIDENCE_WEIGHT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    priority: int
    weight: float
    positive: int
    negative: int
    specificity: int  # number of paths in the condition

    @property
    def evidence(self) -> float:
        return (self.positive - self.negative) * EVIDENCE_WEIGHT * self.weight

    @property
    def score(self) -> float:
        return self.priority * PRIORITY_WEIGHT + self.evidence + self.specificity


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedEffect:
    """The effect and the rank of one matching rule. `age` breaks ties: the younger rule wins."""

    id: str
    then: Mapping[str, Any]
    rank: Rank
    age: tuple[Any, ...] = ()

    def sort_key(self) -> tuple[Any, ...]:
        return (self.rank.score, *self.age, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyConflict:
    """Rules with different effects on one path, and the one that wins."""

    path: str
    winner: str
    losers: tuple[str, ...]
    code: str
    reason: str

    def body(self) -> dict[str, Any]:
        """Return the conflict as a decision stores it."""
        names = ("path", "code", "winner")
        return {**{name: getattr(self, name) for name in names}, "losers": list(self.losers)}


@dataclass(slots=True)
class Policy:
    """The combined effect of rules. `allow` is None if no rule limits the tools."""

    values: dict[str, Any] = field(default_factory=dict)  # output and extensions
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    conflicts: list[PolicyConflict] = field(default_factory=list)
    paths_by_rule: dict[str, tuple[str, ...]] = field(default_factory=dict)  # dotted paths
    deniers: dict[str, tuple[str, ...]] = field(default_factory=dict)  # rules by tool, best first
    preferrers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """Return the policy as the API returns it and as it is hashed."""
        tool: dict[str, Any] = {"deny": list(self.deny), "prefer": list(self.prefer)}
        if self.allow is not None:
            tool["allow"] = list(self.allow)
        return {**self.values, "tool": tool}


def merge_effects(effects: Sequence[RankedEffect]) -> Policy:
    ascending = sorted(effects, key=RankedEffect.sort_key)
    policy = Policy()
    writers: dict[str, list[tuple[RankedEffect, Any]]] = {}
    for effect in ascending:
        paths = []
        for path, value in _list_values(effect.then):
            paths.append(path)
            writers.setdefault(path, []).append((effect, value))
            _set_value(policy.values, path.split("\x1f"), value)
        tools = effect.then.get("tool")
        paths += [f"tool\x1f{name}" for name in tools] if isinstance(tools, Mapping) else []
        policy.paths_by_rule[effect.id] = tuple(path.replace("\x1f", ".") for path in paths)
    policy.conflicts = [
        conflict
        for path, contributions in writers.items()
        if (conflict := _find_conflict(path, contributions))
    ]
    _merge_tools(policy, ascending[::-1])
    return policy


def _list_values(then: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every value except those of tools, with its path. Lists are values."""
    for name, value in then.items():
        if name != "tool":
            yield from _list_nested_values(name, value)


def _list_nested_values(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _list_nested_values(f"{path}\x1f{name}", inner)
    else:
        yield path, value


def _set_value(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    target = values
    for name in path[:-1]:
        inner = target.get(name)
        if not isinstance(inner, dict):
            inner = target[name] = {}
        target = inner
    if value != {} or not isinstance(target.get(path[-1]), dict):
        target[path[-1]] = {} if value == {} else value  # a new dict: the rule's own stays empty


def _find_conflict(
    path: str, contributions: Sequence[tuple[RankedEffect, Any]]
) -> PolicyConflict | None:
    winner, value = contributions[-1]
    losers = [effect for effect, other in contributions[:-1] if not is_equal(other, value)]
    if not losers:
        return None
    return PolicyConflict(
        path=path.replace("\x1f", "."),
        winner=winner.id,
        losers=tuple(effect.id for effect in losers),
        code="value_overridden",
        reason=_explain_rank(winner, losers[-1]),
    )


def _explain_rank(winner: RankedEffect, loser: RankedEffect) -> str:
    if winner.rank.score == loser.rank.score:
        return "equal rank: the younger rule"
    if winner.rank.priority > loser.rank.priority:
        return f"priority {winner.rank.priority} over {loser.rank.priority}"
    if winner.rank.evidence > loser.rank.evidence:
        return f"evidence {winner.rank.evidence:g} over {loser.rank.evidence:g}"
    return f"{winner.rank.specificity} condition paths over {loser.rank.specificity}"


# --- Tools ----------------------------------------------------------------------------------------


def _merge_tools(policy: Policy, descending: Sequence[RankedEffect]) -> None:
    policy.deniers = _group_rules_by_tool(descending, "deny")
    policy.preferrers = _group_rules_by_tool(descending, "prefer")
    policy.deny = tuple(sorted(policy.deniers))
    policy.prefer = tuple(policy.preferrers)
    limits = [
        (effect, names)
        for effect in descending
        if (names := _list_tools(effect, "allow")) is not None
    ]
    if limits:
        common = set(limits[0][1]).intersection(*(names for _effect, names in limits[1:]))
        policy.allow = tuple(name for name in dict.fromkeys(limits[0][1]) if name in common)
        if not common and len(limits) > 1:
            winner, *losers = [effect.id for effect, _names in limits]
            conflict = PolicyConflict(
                path="tool.allow",
                winner=winner,
                losers=tuple(losers),
                code="allow_intersection_empty",
                reason="no tool is on every allow-list",
            )
            policy.conflicts.append(conflict)
    policy.conflicts += _list_denial_conflicts(policy, _group_rules_by_tool(descending, "allow"))


def _list_tools(effect: RankedEffect, list_name: str) -> list[str] | None:
    tools = effect.then.get("tool")
    names = tools.get(list_name) if isinstance(tools, Mapping) else None
    return [str(name) for name in names] if isinstance(names, list) else None


def _group_rules_by_tool(
    descending: Sequence[RankedEffect], list_name: str
) -> dict[str, tuple[str, ...]]:
    """Return the rules that name each tool, best first; tools in the order of their best rule."""
    rules: dict[str, list[str]] = {}
    for effect in descending:
        for name in dict.fromkeys(_list_tools(effect, list_name) or ()):
            rules.setdefault(name, []).append(effect.id)
    return {name: tuple(ids) for name, ids in rules.items()}


def _list_denial_conflicts(
    policy: Policy, allowers: Mapping[str, tuple[str, ...]]
) -> Iterator[PolicyConflict]:
    """Yield conflicts with denied tools: a denial always wins."""
    kinds = {"preferred_but_denied": policy.preferrers, "allowed_but_denied": allowers}
    for name in policy.deny:
        deniers = policy.deniers[name]
        for code, rules_by_tool in kinds.items():
            losers = tuple(rule for rule in rules_by_tool.get(name, ()) if rule not in deniers)
            if losers:
                yield PolicyConflict(
                    path=f"tool.{name}",
                    winner=deniers[0],
                    losers=losers,
                    code=code,
                    reason="a denied tool stays denied",
                )
