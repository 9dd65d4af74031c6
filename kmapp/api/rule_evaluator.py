"""Rules in the answers of other apps. The app of the rules registers how it evaluates them."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

# Takes an account and a request with context, owner IDs, scope, include_shadow and limit.
Evaluate = Callable[[UUID, Mapping[str, Any]], Mapping[str, Any]]

_evaluators: list[Evaluate] = []


def register_rule_evaluator(evaluate: Evaluate) -> Evaluate:
    _evaluators.append(evaluate)
    return evaluate


def evaluate_rules(account_id: UUID, request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the evaluation of the account's rules. Opens `acting` itself."""
    return next((evaluate(account_id, request) for evaluate in _evaluators), None)
