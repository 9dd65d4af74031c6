"""Results of asynchronous work, registered by the app that does the work."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """`result` is for agents; `evidence`, by its label, is for people only."""

    result: Mapping[str, Any] | None = None
    evidence: Mapping[str, str] = field(default_factory=dict)


# Receives the account's id and the event's payload.
ResultFunction = Callable[[UUID, Mapping[str, Any]], JobOutcome]
_result_functions: dict[str, ResultFunction] = {}


def register_result_function(topic: str) -> Callable[[ResultFunction], ResultFunction]:
    """Register the function that returns outcomes of a topic's events, called inside `acting`."""

    def register(result_function: ResultFunction) -> ResultFunction:
        _result_functions[topic] = result_function
        return result_function

    return register


def load_outcome(account_id: UUID, topic: str, payload: Mapping[str, Any]) -> JobOutcome:
    result_function = _result_functions.get(topic)
    return result_function(account_id, payload) if result_function else JobOutcome()
