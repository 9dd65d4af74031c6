"""How calls are to be assembled: what is protected, what gives way, and how far. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

STRATEGIES = ("soft_trim", "hard_clear")
MOST_NAMES = 200


class BadPolicy(ValueError):
    """A value that no call can be assembled by; `name` says which."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def _number(least: int, most: int, default: int) -> Any:
    return field(default=default, metadata={"least": least, "most": most})


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Turns are the user's; head and tail are characters; all else are tokens or numbers."""

    protected_turns: int = _number(1, 50, 2)  # never pruned, never summed up
    least_turns: int = _number(1, 500, 8)  # history gets no shorter before it is summed up
    prune: tuple[str, ...] = STRATEGIES  # in this order
    head: int = _number(0, 100_000, 1_500)
    tail: int = _number(0, 100_000, 500)
    unprunable_tools: tuple[str, ...] = ()
    compact: bool = True
    summary_tokens: int = _number(50, 10_000, 600)
    snippet_tokens: int = _number(0, 100_000, 2_000)
    most_snippet_tokens: int = _number(0, 200_000, 4_000)  # with what narrower tools leave over
    most_snippets: int = _number(0, 100, 20)
    min_score: float = 0.0
    strict_tools: bool = True
    retrieval_ms: int = _number(50, 10_000, 2_000)

    def body(self) -> dict[str, Any]:
        """As JSON."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """The policy with other values for some names. Raises BadPolicy."""
        known = {each.name: each for each in fields(self)}
        read: dict[str, Any] = {}
        for name, value in changes.items():
            if name not in known:
                raise BadPolicy(name, f"is none of {', '.join(known)}")
            read[name] = _READERS[type(known[name].default)](name, value, known[name].metadata)
        for strategy in read.get("prune", ()):
            if strategy not in STRATEGIES:
                raise BadPolicy("prune", f"{strategy!r} is none of {', '.join(STRATEGIES)}")
        return replace(self, **read)


def _whole(name: str, value: Any, limits: Mapping[str, Any]) -> int:
    if type(value) is not int or not limits["least"] <= value <= limits["most"]:
        raise BadPolicy(name, f"is a whole number from {limits['least']} to {limits['most']}")
    return value


def _share(name: str, value: Any, _limits: Mapping[str, Any]) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise BadPolicy(name, "is a number from 0 to 1")
    return float(value)


def _flag(name: str, value: Any, _limits: Mapping[str, Any]) -> bool:
    if type(value) is not bool:
        raise BadPolicy(name, "is true or false")
    return value


def _names(name: str, value: Any, _limits: Mapping[str, Any]) -> tuple[str, ...]:
    if (
        not isinstance(value, list | tuple)
        or len(value) > MOST_NAMES
        or not all(isinstance(each, str) for each in value)
    ):
        raise BadPolicy(name, "is a list of names")
    return tuple(value)


_READERS = {int: _whole, float: _share, bool: _flag, tuple: _names}
DEFAULT = Policy()
