"""Pytest plugin: the longest tests start early; garbage collections leave imported objects out."""

import gc
from itertools import groupby

import pytest

# Each takes half a minute or more. One that starts last keeps the other workers waiting.
LONGEST = {
    "test_no_payload_becomes_markup",
    "test_lists_show_only_rows_of_the_account_which_are_read_only",
    "test_from_the_wheel_to_a_recalled_memory",
    "test_small_accounts_get_complete_results",
    "test_published_tests",
    "test_calls_fit_their_budget_and_parts_add_up",
    "test_query_plans_use_indexes",
    "test_first_hour",
}


@pytest.hookimpl(trylast=True)  # after pytest-randomly
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spread the longest tests over the first half, between modules."""
    longest = [item for item in items if item.name.partition("[")[0] in LONGEST]
    others = [item for item in items if item not in longest]
    modules = [list(module) for _, module in groupby(others, lambda item: item.path)]
    step = len(modules) // 2 // max(len(longest), 1) + 1
    for number, item in enumerate(longest):
        modules.insert(number * step, [item])
    items[:] = [item for module in modules for item in module]


def pytest_collectstart() -> None:
    """Collect no garbage while objects are created that live as long as the process."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave those objects out of garbage collections."""
    gc.freeze()
    gc.enable()
