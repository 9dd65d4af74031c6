"""Pytest plugin that starts the longest tests early and groups the tests with a browser.

If tests are sent to the workers one by one, as in the short form of the chaos tests, the longest
start first. It also makes garbage collections rarer, and excludes imported objects from them.
"""

import gc
from itertools import groupby

import pytest

# Each takes half a minute or more. If one starts last, the other workers wait for it.
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
# Each takes 20 seconds or more in the short form; the longest first.
LONGEST_OF_CHAOS = (
    "test_full_data_folder_loses_nothing",
    "test_without_a_key",
    "test_steps_of_the_clock_delete_nothing_and_delay_nothing",
    "test_read_only_database_disk_needs_only_a_restart_of_postgres",
    "test_faulty_network_loses_nothing",
    "test_with_a_key_of_every_scope",
    "test_full_database_disk_refuses_writes_and_loses_none",
    "test_writes_succeed_without_the_embedder",
    "test_job_survives_a_killed_worker",
    "test_newest_checkpoint_is_at_most_two_seconds_behind",
    "test_different_clocks_run_no_job_twice",
    "test_redacted_text_is_in_no_file",
    "test_stopped_worker_loses_no_job",
    "test_migrations_block_requests_briefly",
    "test_silent_client_is_disconnected",
    "test_recall_succeeds_without_the_embedder",
)
NEW_OBJECTS = 10_000  # between garbage collections; a page alone creates some thousand
# Number of blocks of tests that share a browser. They are far apart, for different workers.
BROWSERS = 3


@pytest.hookimpl(trylast=True)  # after pytest-randomly
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the longest tests where no worker waits for them at the end."""
    if config.getoption("maxschedchunk", None) == 1:
        items.sort(key=rank)
    else:
        spread(items)


def spread(items: list[pytest.Item]) -> None:
    """Spread the longest tests and those with a browser over the first half, between modules."""
    longest = [[item] for item in items if is_longest(item)]
    others = (item for item in items if not is_longest(item))
    modules = [list(module) for _, module in groupby(others, lambda item: item.path)]
    browser = [module for module in [*longest, *modules] if needs_browser(module[0])]
    longest = [module for module in longest if not needs_browser(module[0])]
    modules = [module for module in modules if not needs_browser(module[0])]
    blocks: list[list[pytest.Item]] = []
    for number in range(BROWSERS):
        blocks.append([item for module in browser[number::BROWSERS] for item in module])
        blocks += longest[number::BROWSERS]
    step = len(modules) // 2 // len(blocks) + 1
    for number, block in enumerate(blocks):
        modules.insert(number * step, block)
    items[:] = [item for module in modules for item in module]


def rank(item: pytest.Item) -> int:
    """Return the place of a chaos test among the longest; all others follow these."""
    ranks = {name: number for number, name in enumerate(LONGEST_OF_CHAOS)}
    return ranks.get(item.name.partition("[")[0], len(ranks))


def is_longest(item: pytest.Item) -> bool:
    return item.name.partition("[")[0] in LONGEST


def needs_browser(item: pytest.Item | None) -> bool:
    return item is not None and item.get_closest_marker("browser") is not None


def pytest_collectstart() -> None:
    """Collect no garbage while objects are created that live as long as the process."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Exclude the objects created so far from garbage collections, and make these rarer."""
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS)
    gc.enable()
