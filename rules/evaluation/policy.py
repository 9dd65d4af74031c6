"""The combined policy of matching rules. Pure.

Rules are merged in ascending rank, so that the higher one wins where two say different things;
tools are denied by any rule, allowed only by all, and preferred in descending rank.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

PRIORITY_WEIGHT = 1000
EVIDENCE_WEIGHT = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Rank:
    """Why a rule stands above another."""

    priority: int
    weight: float
    positive: int
    negative: int
    specificity: int  # the places that its condition looks at

    @property
    def evidence(self) -> float:
        return (self.positive - self.negative) * EVIDENCE_WEIGHT * self.weight

    @property
    def score(self) -> float:
        return self.priority * PRIORITY_WEIGHT + self.evidence + self.specificity


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """One rule that holds, and what it says. `age` breaks ties: the younger rule wins."""

    id: str
    then: Mapping[str, Any]
    rank: Rank
    age: tuple[Any, ...] = ()

    def order(self) -> tuple[Any, ...]:
        return (self.rank.score, *self.age, self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Rules that say different things of one place, and who has it."""

    path: str
    winner: str
    losers: tuple[str, ...]
    code: str
    reason: str


@dataclass(slots=True)
class Policy:
    """What applies. `allow` is None where no rule limits the tools."""

    values: dict[str, Any] = field(default_factory=dict)  # output and extensions
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    prefer: tuple[str, ...] = ()
    clashes: list[Clash] = field(default_factory=list)
    touched: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by rule: its places
    deniers: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by tool: rules, best first
    preferrers: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def body(self) -> dict[str, Any]:
        """As it goes over the wire, and as it is hashed."""
        tool: dict[str, Any] = {"deny": list(self.deny), "prefer": list(self.prefer)}
        if self.allow is not None:
            tool["allow"] = list(self.allow)
        return {**self.values, "tool": tool}


def merged(voices: Sequence[Voice]) -> Policy:
    """One policy out of what these rules say."""
    ascending = sorted(voices, key=Voice.order)
    policy = Policy()
    writers: dict[str, list[tuple[Voice, Any]]] = {}
    for voice in ascending:
        paths = []
        for path, value in _leaves(voice.then):
            paths.append(path)
            writers.setdefault(path, []).append((voice, value))
            _put(policy.values, path.split("\x1f"), value)
        tools = voice.then.get("tool")
        paths += [f"tool\x1f{name}" for name in tools] if isinstance(tools, Mapping) else []
        policy.touched[voice.id] = tuple(path.replace("\x1f", ".") for path in paths)
    policy.clashes = [
        clash for path, contributions in writers.items() if (clash := _clash(path, contributions))
    ]
    _tools(policy, ascending[::-1])
    return policy


def _leaves(then: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Every value that is not about tools, by its place. Lists are values."""
    for name, value in then.items():
        if name != "tool":
            yield from _below(name, value)


def _below(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _below(f"{path}\x1f{name}", inner)
    else:
        yield path, value


def _put(values: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Put a value at a path, replacing an earlier value."""
    here = values
    for name in path[:-1]:
        inner = here.get(name)
        if not isinstance(inner, dict):
            inner = here[name] = {}
        here = inner
    if value != {} or not isinstance(here.get(path[-1]), dict):
        here[path[-1]] = {} if value == {} else value  # the rule's own is not to be filled


def _clash(path: str, contributions: Sequence[tuple[Voice, Any]]) -> Clash | None:
    winner, value = contributions[-1]
    losers = [voice for voice, other in contributions[:-1] if _other(other, value)]
    if not losers:
        return None
    return Clash(
        path=path.replace("\x1f", "."),
        winner=winner.id,
        losers=tuple(voice.id for voice in losers),
        code="value_overridden",
        reason=_reason(winner, losers[-1]),
    )


def _other(left: Any, right: Any) -> bool:
    return type(left) is not type(right) or bool(left != right)


def _reason(winner: Voice, loser: Voice) -> str:
    """Return why the winner ranks higher."""
    if winner.rank.priority != loser.rank.priority:
        return f"priority {winner.rank.priority} over {loser.rank.priority}"
    if winner.rank.evidence != loser.rank.evidence:
        return f"evidence {winner.rank.evidence:g} over {loser.rank.evidence:g}"
    if winner.rank.specificity != loser.rank.specificity:
        return f"{winner.rank.specificity} condition paths over {loser.rank.specificity}"
    return "equal rank: the younger rule"


# --- Tools ----------------------------------------------------------------------------------------


def _tools(policy: Policy, descending: Sequence[Voice]) -> None:
    policy.deniers = _sayers(descending, "deny")
    policy.preferrers = _sayers(descending, "prefer")
    policy.deny = tuple(sorted(policy.deniers))
    policy.prefer = tuple(policy.preferrers)
    limits = [
        (voice, names) for voice in descending if (names := _names(voice, "allow")) is not None
    ]
    if limits:
        common = set(limits[0][1]).intersection(*(names for _voice, names in limits[1:]))
        policy.allow = tuple(name for name in dict.fromkeys(limits[0][1]) if name in common)
        if not common and len(limits) > 1:
            policy.clashes.append(_tool_clash("tool.allow", "allow_intersection_empty", limits))
    policy.clashes += _against_denied(policy, limits)


def _names(voice: Voice, what: str) -> list[str] | None:
    tools = voice.then.get("tool")
    names = tools.get(what) if isinstance(tools, Mapping) else None
    return [str(name) for name in names] if isinstance(names, list) else None


def _sayers(descending: Sequence[Voice], what: str) -> dict[str, tuple[str, ...]]:
    """By tool: which rules say so, the best first; tools in the order of their best rule."""
    names_by_reason: dict[str, list[str]] = {}
    for voice in descending:
        for name in dict.fromkeys(_names(voice, what) or ()):
            names_by_reason.setdefault(name, []).append(voice.id)
    return {name: tuple(ids) for name, ids in names_by_reason.items()}


def _tool_clash(path: str, code: str, limits: Sequence[tuple[Voice, list[str]]]) -> Clash:
    winner, *losers = [voice for voice, _names in limits]
    return Clash(
        path=path,
        winner=winner.id,
        losers=tuple(voice.id for voice in losers),
        code=code,
        reason="no tool is on every allow-list",
    )


def _against_denied(policy: Policy, limits: Sequence[tuple[Voice, list[str]]]) -> Iterator[Clash]:
    """Return conflicts with denied tools: a denial always wins."""
    allowers: dict[str, list[str]] = {}
    for voice, names in limits:
        for name in dict.fromkeys(names):
            allowers.setdefault(name, []).append(voice.id)
    for name in policy.deny:
        winner = policy.deniers[name][0]
        for code, wanters in (
            ("preferred_but_denied", policy.preferrers.get(name, ())),
            ("allowed_but_denied", tuple(allowers.get(name, ()))),
        ):
            losers = tuple(each for each in wanters if each not in policy.deniers[name])
            if losers:
                yield Clash(
                    path=f"tool.{name}",
                    winner=winner,
                    losers=losers,
                    code=code,
                    reason="a denied tool stays denied",
                )
