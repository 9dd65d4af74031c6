"""A full or read-only disk: clear errors, nothing lost, and recovery without a restart."""

import time
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from django.db import connections
from pytest_django import DjangoDbBlocker

from kmapp.accounts.models import Account
from kmapp.runtime.embedded.postgres import Postgres
from memory.models import MemoryEntry
from tests import makers
from tests.chaos.conftest import ChaosServer, SeparateProduct
from tests.chaos.disks import (
    Disk,
    FileDisk,
    begin_wal_segment,
    connect_superuser,
    may_mount,
    may_mount_files,
    mounted,
    product_with_database_in,
    use_up_wal_segments,
)
from tests.chaos.measure import amount, seconds_until
from tests.chaos.product import Answer, Product
from tests.chaos.test_checkpoints import Ages
from tests.promises.plugin import RecordFigure

pytestmark = [
    pytest.mark.promise(46),
    pytest.mark.skipif(not may_mount(), reason="mounting a disk is not permitted"),
]
KILOBYTES = 420 * 1024
PAGE = 4096  # bytes, of a disk in memory
SEARCH = {"query": "Which lamp is out?", "user_id": "ann"}
FULL_SECONDS = amount(40, 20)  # longer than the intervals of the scheduler's frequent tasks


def post_note(product: Product, number: int) -> Answer:
    text = f"Note {number}: the lamp in hall {number} is out. " + "It was reported. " * 400
    body = {"text": text, "client_id": f"d{number}", "user_id": "ann"}
    return product.post("memory/store", body)


def store(product: Product, number: int) -> int:
    """Store a note; return the status."""
    return post_note(product, number).status


def is_longer(file: Path, size: int) -> bool:
    return file.exists() and file.stat().st_size > size


def fill_last_page(product: Product, checkpoints: Path, number: int) -> int:
    """Store notes until the next checkpoint needs another page; return the number of the last."""
    while True:
        content = checkpoints.read_bytes()
        if len(content) % PAGE + len(content.splitlines()[-1]) + 1 > PAGE:
            return number
        number += 1
        assert store(product, number) == 201
        seconds_until(partial(is_longer, checkpoints, len(content)), 30)


def is_signed(product: Product) -> bool:
    return bool(product.request("GET", "health").body["ledger"]["ok"])


@pytest.mark.long  # minutes: it waits until missing checkpoints are reported
def test_checkpoints_survive_a_full_and_a_read_only_disk(
    separate_product: SeparateProduct, chaos_server: ChaosServer, record_figure: RecordFigure
) -> None:
    """Writes continue, health reports missing checkpoints, and the same process catches up."""
    with (
        mounted(Disk(chaos_server.home / "disk", 64)) as small,
        separate_product(
            CHECKPOINT_FILE=str(checkpoints := small.folder / "checkpoints.ndjson")
        ) as (product, _),
    ):
        product.ensure_running("valkey", "provider", "web", "beat")
        number = 0
        has_signed = partial(is_signed, product)
        assert store(product, number) == 201
        seconds_until(partial(is_longer, checkpoints, 0), 30)
        # A full disk still accepts what fits into the last page of a file.
        number = fill_last_page(product, checkpoints, number)
        pids = product.pids()
        for fault, end in (
            (small.fill, small.free),
            (lambda: small.remount("ro"), lambda: small.remount("rw")),
        ):
            fault()
            number += 1
            assert store(product, number) == 201
            missed = seconds_until(lambda: not has_signed(), 90)  # health allows a minute
            assert product.request("GET", "memory/verify").body["ok"]
            end()
            caught_up = seconds_until(has_signed, 30)
            record_figure(
                f"missing checkpoints reported {missed:.0f} s, signed {caught_up:.0f} s after"
            )
        assert product.pids() == pids
        product.command("fsck")


@pytest.mark.chaos
def test_full_database_disk_refuses_writes_and_loses_none(
    chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker, record_figure: RecordFigure
) -> None:
    """Writes return 503 while the disk is full; searches continue."""
    home = chaos_server.home / "full"
    with (
        mounted(Disk(chaos_server.home / "small", KILOBYTES)) as small,
        product_with_database_in(small.folder, home, chaos_server, django_db_blocker) as parts,
    ):
        product, account, server = parts
        pids = start(product, account, server)
        small.fill()
        acknowledged = write_until_refused(product)
        assert product.post("memory/search", SEARCH).status == 200
        small.free()
        check_recovery(product, account, acknowledged)
        assert product.pids() == pids
        assert server.process
        assert server.process.poll() is None
        record_figure(f"{acknowledged} acknowledged memories there after a full disk")


@pytest.mark.chaos
@pytest.mark.skipif(not may_mount_files(), reason="mounting a file is not permitted")
def test_read_only_database_disk_needs_only_a_restart_of_postgres(
    chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker, record_figure: RecordFigure
) -> None:
    """PostgreSQL ends, and requests get a 503; the product goes on when it is started again."""
    home = chaos_server.home / "ro"
    with (
        mounted(FileDisk(chaos_server.home / "failing", KILOBYTES)) as failing,
        product_with_database_in(failing.folder, home, chaos_server, django_db_blocker) as parts,
    ):
        product, account, server = parts
        pids = start(product, account, server)
        failing.fail()
        acknowledged = write_until_refused(product)
        seconds = wait_until_postgres_ends(product, server)
        failing.repair()
        server.start()
        check_recovery(product, account, acknowledged)
        assert product.pids() == pids
        record_figure(
            f"PostgreSQL ended {seconds:.0f} s after its disk became read-only;"
            f" {acknowledged} acknowledged memories there after its restart"
        )


@pytest.mark.long
def test_full_database_disk_without_space_for_the_log_needs_only_a_restart_of_postgres(
    chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker, record_figure: RecordFigure
) -> None:
    """PostgreSQL ends when it needs another segment of its log, and loses nothing."""
    home = chaos_server.home / "log"
    with (
        mounted(Disk(chaos_server.home / "logged", KILOBYTES)) as small,
        product_with_database_in(small.folder, home, chaos_server, django_db_blocker) as parts,
    ):
        product, account, server = parts
        pids = start(product, account, server)
        with connect_superuser(server) as superuser:
            small.fill()
            acknowledged = write_until_refused(product)
            use_up_wal_segments(superuser)
        wait_until_postgres_ends(product, server)
        small.free()
        server.start()
        check_recovery(product, account, acknowledged)
        assert product.pids() == pids
        record_figure(
            "PostgreSQL ended when its log had no space;"
            f" {acknowledged} acknowledged memories there after its restart"
        )


@pytest.mark.chaos
def test_full_data_folder_loses_nothing(
    chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker, record_figure: RecordFigure
) -> None:
    """The folder has the database, the files of Valkey, checkpoints, the schedule, keys and logs.

    Writes return 503 while it is full, and all processes go on afterwards.
    """
    with (
        mounted(Disk(chaos_server.home / "data", KILOBYTES)) as small,
        product_with_database_in(
            small.folder, small.folder, chaos_server, django_db_blocker
        ) as parts,
    ):
        product, account, server = parts
        product.extra_environment = {**product.extra_environment, "CHAOS_SYNC_EVERY": "1"}
        pids = start(product, account, server)
        small.fill()
        acknowledged = write_until_refused(product)
        statuses = Counter[int]()
        until = time.monotonic() + FULL_SECONDS
        while time.monotonic() < until:
            statuses[post_note(product, acknowledged).status] += 1
            statuses[product.post("memory/search", SEARCH).status] += 1
            time.sleep(0.5)
        assert set(statuses) <= {200, 201, 503}
        assert statuses[503]
        small.free()
        check_recovery(product, account, acknowledged)
        seconds_until(Ages(product, account).is_signed, 60)
        assert product.pids() == pids
        assert server.process
        assert server.process.poll() is None
        record_figure(f"{acknowledged} acknowledged memories there after a full data folder")


def start(product: Product, account: Account, server: Postgres) -> dict[str, int]:
    """Start the whole product, store five notes and do their jobs; return the pids.

    Beat, which has no sign that it is ready, has signed the notes.
    """
    product.ensure_running("valkey", "provider", "web", "worker", "beat")
    assert [store(product, number) for number in range(4)] == [201] * 4
    begin_wal_segment(server)
    assert store(product, 4) == 201
    seconds_until(product.is_idle, 60)
    seconds_until(Ages(product, account).is_signed, 60)
    return product.pids()


def write_until_refused(product: Product) -> int:
    """Write notes until one gets a 503; return how many were acknowledged in all."""
    acknowledged = 5
    answer = post_note(product, acknowledged)
    while answer.status == 201 and acknowledged < 400:
        acknowledged += 1
        answer = post_note(product, acknowledged)
    assert answer.status == 503, answer
    assert int(answer.headers["Retry-After"]) > 0, answer
    return acknowledged


def wait_until_postgres_ends(product: Product, server: Postgres) -> float:
    """Wait until PostgreSQL has ended and the product reports it; return the seconds."""
    process = server.process
    assert process
    seconds = seconds_until(lambda: process.poll() is not None, 60)
    assert post_note(product, 0).status == 503
    assert product.post("memory/search", SEARCH).status == 503
    server.stop()
    connections.close_all()  # of this process
    return seconds


def check_recovery(product: Product, account: Account, acknowledged: int) -> None:
    """Wait until the refused note can be written and all jobs are done; look for all notes."""
    seconds_until(lambda: store(product, acknowledged) in (200, 201), 60)
    seconds_until(product.is_idle, 120)
    rows = makers.rows(MemoryEntry, account)
    assert {row.client_id for row in rows} == {f"d{n}" for n in range(acknowledged + 1)}
    listed = product.post("memory/list", {"user_id": "ann", "limit": 200}).body["results"]
    assert len(listed) == len(rows)
    product.command("fsck")
