"""Settings of the embedded PostgreSQL that follow from the machine."""

from pathlib import Path

import pytest

from kmapp.runtime.embedded.postgres_memory import (
    Machine,
    build_cache_settings,
    build_index_settings,
    list_memory_limits,
    measure_machine,
)


@pytest.mark.parametrize(
    ("memory", "shared", "build", "workers"),
    [
        (1_000, 500, "256MB", "0"),  # a small host
        (8_000, 64, "1000MB", "0"),  # a container
        (8_000, 4_000, "1000MB", "3"),
        (64_000, 32_000, "2048MB", "3"),
    ],
)
def test_index_builds_fit_the_machine(memory: int, shared: int, build: str, workers: str) -> None:
    assert build_index_settings(Machine(memory, shared, processors=4)) == {
        "maintenance_work_mem": build,
        "max_parallel_maintenance_workers": workers,
    }


@pytest.mark.parametrize(
    ("memory", "buffers", "cached"),
    [
        (1_000, "256MB", "1024MB"),
        (8_000, "1000MB", "4000MB"),
        (64_000, "2048MB", "32000MB"),
    ],
)
def test_cache_fits_the_machine(memory: int, buffers: str, cached: str) -> None:
    assert build_cache_settings(Machine(memory, shared=64, processors=4)) == {
        "shared_preload_libraries": "pg_prewarm",
        "shared_buffers": buffers,
        "effective_cache_size": cached,
    }


GROUPS = {
    "memory.max": "max\n",
    "kmapp.slice/memory.max": "4000\n",
    "kmapp.slice/web/memory.max": "9000\n",
    "other/memory.max": "1\n",
    "memory/memory.limit_in_bytes": "9223372036854771712\n",
    "memory/box/memory.limit_in_bytes": "5000\n",
}


@pytest.mark.parametrize(
    ("own_groups", "limits"),
    [
        ("0::/kmapp.slice/web\n", {4_000, 9_000}),
        ("0::/\n", set()),
        ("5:cpu:/kmapp.slice\n4:memory:/box\n0::/\n", {5_000, 9_223_372_036_854_771_712}),
        ("4:memory:/on/the/host\n", {9_223_372_036_854_771_712}),
        ("0::/../..\n", set()),
        ("", set()),
    ],
)
def test_memory_limits_of_control_groups(tmp_path: Path, own_groups: str, limits: set[int]) -> None:
    for name, content in GROUPS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    assert set(list_memory_limits(tmp_path, own_groups)) == limits


def test_memory_is_that_of_the_machine_or_of_its_control_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, own = "kmapp.runtime.embedded.postgres_memory", tmp_path / "own"
    monkeypatch.setattr(f"{module}.CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(f"{module}.OWN_GROUPS", own)
    unlimited = measure_machine()
    assert unlimited.memory > 0, "without control groups"
    own.write_text("0::/box\n")
    (tmp_path / "box").mkdir()
    limit = tmp_path / "box" / "memory.max"
    limit.write_text("max\n")
    assert measure_machine().memory == unlimited.memory
    limit.write_text(f"{64 * 2**20}\n")
    assert measure_machine().memory == 64
