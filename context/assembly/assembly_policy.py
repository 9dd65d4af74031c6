"""The policy of call assembly: protected parts and limits. Pure."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Self

STRATEGIES = ("soft_trim", "hard_clear")
MAX_NAMES = 200


class InvalidPolicy(ValueError):
    """An invalid policy value; `name` is the field."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name = name
        self.reason = reason


def _number(minimum: int, maximum: int, default: int) -> Any:
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum})


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyPolicy:
    """Limits of call assembly: `head` and `tail` in characters, the rest in tokens or counts."""

    protected_turns: int = _number(1, 50, 2)  # never pruned or summarised
    least_turns: int = _number(1, 500, 8)  # history is summarised rather than cut below this
    prune: tuple[str, ...] = STRATEGIES  # in this order
    head: int = _number(0, 100_000, 1_500)
    tail: int = _number(0, 100_000, 500)
    unprunable_tools: tuple[str, ...] = ()
    compact: bool = True
    summary_tokens: int = _number(50, 10_000, 600)
    snippet_tokens: int = _number(0, 100_000, 2_000)
    # Including the tokens that a narrower tool profile frees.
    most_snippet_tokens: int = _number(0, 200_000, 4_000)
    most_snippets: int = _number(0, 100, 20)
    min_score: float = 0.0
    strict_tools: bool = True
    short_ids: bool = False  # whether retrieved texts are numbered instead of having their ref
    retrieval_ms: int = _number(50, 10_000, 2_000)

    def body(self) -> dict[str, Any]:
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        }

    def with_changes(self, changes: Mapping[str, Any]) -> Self:
        """Return the policy with other values for some fields. Raises InvalidPolicy."""
        policy_fields = {one.name: one for one in fields(self)}
        values: dict[str, Any] = {}
        for name, value in changes.items():
            if name not in policy_fields:
                raise InvalidPolicy(name, f"must be one of {', '.join(policy_fields)}")
            policy_field = policy_fields[name]
            values[name] = _READERS[type(policy_field.default)](name, value, policy_field.metadata)
        for strategy in values.get("prune", ()):
            if strategy not in STRATEGIES:
                raise InvalidPolicy("prune", f"{strategy!r} must be one of {', '.join(STRATEGIES)}")
        return replace(self, **values)


def _read_integer(name: str, value: Any, limits: Mapping[str, Any]) -> int:
    if type(value) is not int or not limits["minimum"] <= value <= limits["maximum"]:
        raise InvalidPolicy(
            name, f"must be an integer from {limits['minimum']} to {limits['maximum']}"
        )
    return value


def _read_fraction(name: str, value: Any, _limits: Mapping[str, Any]) -> float:
    if type(value) not in (int, float) or not 0 <= value <= 1:
        raise InvalidPolicy(name, "must be a number from 0 to 1")
    return float(value)


def _read_boolean(name: str, value: Any, _limits: Mapping[str, Any]) -> bool:
    if type(value) is not bool:
        raise InvalidPolicy(name, "must be true or false")
    return value


def _read_names(name: str, value: Any, _limits: Mapping[str, Any]) -> tuple[str, ...]:
    if (
        not isinstance(value, list | tuple)
        or len(value) > MAX_NAMES
        or not all(isinstance(item, str) for item in value)
    ):
        raise InvalidPolicy(name, "must be a list of names")
    return tuple(value)


_READERS = {int: _read_integer, float: _read_fraction, bool: _read_boolean, tuple: _read_names}
DEFAULT = AssemblyPolicy()
