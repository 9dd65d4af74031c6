"""PostgreSQL's settings that follow from the memory and the processors of the machine."""

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

MEGABYTE = 2**20
INDEX_MEMORY = (256, 2048)  # megabytes for an index build: at least, at most
SHARED_BUFFERS = (256, 2048)  # megabytes of pages in PostgreSQL's own cache
MIN_CACHED = 1024  # megabytes that the planner expects in caches, on the smallest machine
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Postgres creates it
CONTROL_GROUPS, OWN_GROUPS = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")


class Machine(NamedTuple):
    """Megabytes of memory and of free shared memory, and the number of processors."""

    memory: int
    shared: int
    processors: int


def measure_machine() -> Machine:
    """Return what this process may use: a container may have less memory than its host."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    own_groups = OWN_GROUPS.read_text() if OWN_GROUPS.exists() else ""
    memory = min([memory, *list_memory_limits(CONTROL_GROUPS, own_groups)])
    shared = shutil.disk_usage(SHARED_MEMORY).free if SHARED_MEMORY.exists() else 0
    return Machine(memory // MEGABYTE, shared // MEGABYTE, os.cpu_count() or 1)


def list_memory_limits(root: Path, own_groups: str) -> Iterator[int]:
    """Return the limits of the control groups of a process and of those above, in bytes.

    `own_groups` is the content of /proc/PID/cgroup: a line "number:controllers:path" for each
    hierarchy. That of version 2 names no controllers.
    """
    for line in own_groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            top, name = root / "memory", "memory.limit_in_bytes"
        elif not controllers:
            top, name = root, "memory.max"
        else:
            continue
        # A container may see its own group as the top, under whatever path.
        for folder in {top, *(top / path.lstrip("/")).parents, top / path.lstrip("/")}:
            with suppress(OSError):  # most groups have no such file
                if (limit := (folder / name).read_text().strip()).isdigit():  # or "max"
                    yield int(limit)


def build_index_settings(machine: Machine) -> dict[str, str]:
    """Return the settings of index builds.

    An HNSW index that does not fit into the memory of its build takes many times as long. Parallel
    builds have this memory in /dev/shm, which is small in many containers.
    """
    build = _compute_eighth(machine, INDEX_MEMORY)
    is_enough = machine.shared > 2 * build
    return {
        "maintenance_work_mem": f"{build}MB",
        "max_parallel_maintenance_workers": str(machine.processors - 1 if is_enough else 0),
    }


def build_cache_settings(machine: Machine) -> dict[str, str]:
    """Return the settings of the cache of pages.

    A search reads thousands of pages. One that is not in the cache is copied from the cache of the
    operating system, which has the other half of the memory. After a restart, pg_prewarm loads the
    pages that were in the cache; it lists them every five minutes.
    """
    return {
        "shared_preload_libraries": "pg_prewarm",
        "shared_buffers": f"{_compute_eighth(machine, SHARED_BUFFERS)}MB",
        "effective_cache_size": f"{max(MIN_CACHED, machine.memory // 2)}MB",
    }


def _compute_eighth(machine: Machine, bounds: tuple[int, int]) -> int:
    """Return an eighth of the memory, at least and at most as much as the bounds."""
    minimum, maximum = bounds
    return max(minimum, min(machine.memory // 8, maximum))
