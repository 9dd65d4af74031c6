"""Start after a recovery that was killed: finish it, or refuse to create an empty database."""

import os
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kmapp.runtime.embedded.interrupted_recovery import (
    SHUT_DOWN,
    build_former_folder,
    finish_interrupted_swap,
    get_recovered_folder,
)
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.recovery import recover
from kmapp.runtime.processes import CannotStart
from tests.kernel.test_embedded import open_folder, postgres, query

pytestmark = pytest.mark.promise(30, 44)
IN_ARCHIVE_RECOVERY = 5
MOMENT = datetime(2026, 11, 25, 14, 30, tzinfo=UTC)


@pytest.fixture
def folder() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


def test_next_start_finishes_a_recovery_that_was_killed_between_its_renames(folder: Path) -> None:
    server = postgres(folder, durable=False)
    with server:
        query(server, "CREATE TABLE kept (one int)", "INSERT INTO kept VALUES (1) RETURNING one")
    server.data.rename(get_recovered_folder(server.data))
    former = build_former_folder(server.data, datetime.now(UTC))
    former.mkdir()
    with server:
        assert query(server, "SELECT one FROM kept") == (1,)
    assert former.exists()
    assert not get_recovered_folder(server.data).exists()


@pytest.mark.parametrize("left", ["postgres.before-20261125T143000Z", "postgres.restored"])
def test_no_empty_database_is_created_next_to_former_data(folder: Path, left: str) -> None:
    (folder / left).mkdir()
    with pytest.raises(CannotStart, match="No empty database is created"):
        postgres(folder).prepare()
    assert [path.name for path in folder.iterdir()] == [left]


@pytest.mark.parametrize(
    ("state", "ended", "is_finished"),
    [
        (SHUT_DOWN, MOMENT - timedelta(seconds=1), True),
        (IN_ARCHIVE_RECOVERY, MOMENT - timedelta(seconds=1), False),
        (SHUT_DOWN, MOMENT + timedelta(minutes=1), False),  # the folder is of an earlier recovery
    ],
)
def test_only_a_recovery_that_reached_its_target_is_finished(
    tmp_path: Path, state: int, ended: datetime, *, is_finished: bool
) -> None:
    data = tmp_path / "postgres"
    control = get_recovered_folder(data) / "global" / "pg_control"
    control.parent.mkdir(parents=True)
    control.write_bytes(struct.pack("=QIIi", 7, 1800, 202507231, state))
    os.utime(control, (ended.timestamp(), ended.timestamp()))
    live = Postgres(data, tmp_path, tmp_path / "log", archive=tmp_path / "empty")
    assert not finish_interrupted_swap(data), "the former data were not moved by a recovery"
    former = build_former_folder(data, MOMENT)
    former.mkdir()
    if is_finished:  # and not repeated, which the empty archive would refuse
        reports: list[str] = []
        assert recover(live, None, reports.append) == former
        assert "is finished" in reports[0]
    else:
        assert not finish_interrupted_swap(data)
    assert data.exists() is is_finished
    assert get_recovered_folder(data).exists() is not is_finished
