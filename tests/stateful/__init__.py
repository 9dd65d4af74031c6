"""Stateful tests of memories, rules and jobs: Hypothesis generates steps, models predict results.

Every run uses two accounts of its own in a real database. The short form is derandomised, so that
`make test` runs the same examples each time; `make long` looks for new ones.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test


class _Skipped(Exception):
    pass


def need(condition: object) -> None:
    """Skip the rest of a step. `hypothesis.assume` would throw away the whole run."""
    if not condition:
        raise _Skipped


def step(
    **strategies: st.SearchStrategy[Any],
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator for a rule of a machine that may skip."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def attempt(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
            except _Skipped:
                return

        decorated: Callable[..., None] = rule(**strategies)(attempt)  # type: ignore[call-overload]
        return decorated

    return decorate


def forms(short: int, steps: int) -> pytest.MarkDecorator:
    """Parametrize a test by `form`: `short` runs of this many steps, or 15 times as many runs."""
    common = settings(
        deadline=None,
        database=None,
        stateful_step_count=steps,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
    )
    quick = settings(common, max_examples=short, derandomize=True, phases=[Phase.generate])
    long = settings(common, max_examples=15 * short)
    marks = [pytest.mark.long, pytest.mark.timeout(3600)]
    forms = [pytest.param(quick, id="short"), pytest.param(long, id="long", marks=marks)]
    return pytest.mark.parametrize("form", forms)


def run(machine: type[RuleBasedStateMachine], form: settings) -> None:
    run_state_machine_as_test(machine, settings=form)
