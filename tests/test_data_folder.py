"""The data of the tests is in memory, unless the machine has too little."""

import pytest

from kmapp.runtime.embedded.postgres_memory import SHARED_MEMORY, Machine
from tests.data_folder import DISK, MOST_DATA, choose_parent

ENOUGH = 2 * MOST_DATA


@pytest.mark.parametrize(
    ("memory", "shared", "in_memory"),
    [
        (ENOUGH, MOST_DATA, True),
        (ENOUGH - 2, MOST_DATA, False),  # of the machine, or of its container
        (ENOUGH, MOST_DATA - 1, False),  # 64 in many containers
        (ENOUGH, 0, False),  # there is no such folder
    ],
)
def test_small_machines_store_the_data_on_a_disk(
    memory: int, shared: int, *, in_memory: bool
) -> None:
    parent = choose_parent(Machine(memory, shared, processors=2))
    assert parent == (SHARED_MEMORY if in_memory else DISK)
