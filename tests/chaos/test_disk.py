"""A full or read-only disk: clear errors, nothing lost, and recovery without a restart."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

from kmapp.database.provision import Login, provision
from kmapp.runtime.embedded.postgres import Postgres
from memory.models import MemoryEntry
from tests import makers
from tests.chaos.conftest import ROLES, ChaosServer, SeparateProduct, connected_to
from tests.chaos.measure import seconds_until
from tests.chaos.product import Answer, Product
from tests.promises.plugin import RecordFigure

MEGABYTE = 2**20


def _may_mount() -> bool:
    words = ["unshare", "-m", "true"]
    return os.getuid() == 0 and subprocess.run(words, check=False).returncode == 0


pytestmark = [
    pytest.mark.promise(46),
    pytest.mark.skipif(not _may_mount(), reason="mounting a disk is not permitted"),
]


class Disk:
    """A small disk of its own."""

    def __init__(self, folder: Path, kilobytes: int) -> None:
        self.folder = folder
        folder.mkdir(mode=0o711)
        self._run("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=711", "tmpfs", str(folder))

    def fill(self) -> None:
        with (self.folder / "filler").open("wb", buffering=0) as file:
            for size in (MEGABYTE, 4096, 1):
                try:
                    while file.write(b"x" * size):
                        pass
                except OSError:
                    continue

    def free(self) -> None:
        (self.folder / "filler").unlink()

    def remount(self, mode: str) -> None:
        self._run("mount", "-o", f"remount,{mode}", str(self.folder))

    def unmount(self) -> None:
        self._run("umount", "-l", str(self.folder))

    def _run(self, *words: str) -> None:
        subprocess.run(words, check=True, capture_output=True)


@contextmanager
def disk(folder: Path, kilobytes: int) -> Iterator[Disk]:
    mounted = Disk(folder, kilobytes)
    try:
        yield mounted
    finally:
        mounted.unmount()


def post_note(product: Product, number: int) -> Answer:
    text = f"Note {number}: the lamp in hall {number} is out. " + "It was reported. " * 400
    body = {"text": text, "client_id": f"d{number}", "user_id": "ann"}
    return product.post("memory/store", body)


def store(product: Product, number: int) -> int:
    """Store a note; return the status."""
    return post_note(product, number).status


@pytest.mark.long  # minutes: it waits until missing checkpoints are reported
def test_checkpoints_survive_a_full_and_a_read_only_disk(
    separate_product: SeparateProduct, chaos_server: ChaosServer, record_figure: RecordFigure
) -> None:
    """Writes continue, health reports missing checkpoints, and the same process catches up."""
    with (
        disk(chaos_server.home / "disk", 64) as small,
        separate_product(CHECKPOINT_FILE=str(small.folder / "checkpoints.ndjson")) as (product, _),
    ):
        product.ensure_running("valkey", "provider", "web", "beat")
        number = 0

        def is_signed() -> bool:
            return bool(product.request("GET", "health").body["ledger"]["ok"])

        assert store(product, number) == 201
        seconds_until(is_signed, 30)
        beat = product.running["beat"].pid
        for fault, end in (
            (small.fill, small.free),
            (lambda: small.remount("ro"), lambda: small.remount("rw")),
        ):
            fault()
            number += 1
            assert store(product, number) == 201
            missed = seconds_until(lambda: not is_signed(), 90)  # health allows a minute
            assert product.request("GET", "memory/verify").body["ok"]
            end()
            caught_up = seconds_until(is_signed, 30)
            record_figure(
                f"missing checkpoints reported {missed:.0f} s, signed {caught_up:.0f} s after"
            )
        assert product.running["beat"].pid == beat
        assert product.running["beat"].poll() is None
        product.command("fsck")


@pytest.mark.chaos
def test_full_database_disk_refuses_writes_and_loses_none(
    chaos_server: ChaosServer, django_db_blocker: DjangoDbBlocker, record_figure: RecordFigure
) -> None:
    """Writes return 503 while the disk is full; searches continue."""
    with disk(chaos_server.home / "small", 420 * 1024) as small:
        home = small.folder
        server = Postgres(
            home / "postgres", chaos_server.home / "sm", chaos_server.home / "small.log"
        )
        with server:
            owner, app = Login(ROLES["owner"]), Login(ROLES["app"])
            provision(server.url(), database="small", owner=owner, app=app)
            with django_db_blocker.unblock(), connected_to(server, "small"):
                call_command("migrate", database="owner", verbosity=0)
                call_command("embedding_models", "ensure", verbosity=0)
                account = makers.account("Acme")
                shutil.rmtree(chaos_server.home / "full", ignore_errors=True)
                (chaos_server.home / "full").mkdir()
                product = Product(chaos_server.home / "full", server.url(ROLES["app"], "small"))
                product.key = makers.key(account)[1]
                try:
                    _fill_and_free(product, small, account.pk)
                    remaining = makers.rows(MemoryEntry, account)
                finally:
                    product.kill(*product.running)
                record_figure(f"{len(remaining)} acknowledged memories there after a full disk")


def _fill_and_free(product: Product, small: Disk, account_id: object) -> None:
    product.ensure_running("valkey", "provider", "web")
    assert [store(product, number) for number in range(5)] == [201] * 5
    small.fill()
    acknowledged = 5
    answer = post_note(product, acknowledged)
    while answer.status == 201 and acknowledged < 400:
        acknowledged += 1
        answer = post_note(product, acknowledged)
    assert answer.status == 503, answer
    assert int(answer.headers["Retry-After"]) > 0, answer
    search = {"query": "Which lamp is out?", "user_id": "ann"}
    assert product.post("memory/search", search).status == 200
    small.free()
    seconds_until(lambda: store(product, acknowledged) in (200, 201), 30)
    with_client = product.post("memory/list", {"user_id": "ann", "limit": 200}).body["results"]
    assert {row["client_id"] for row in with_client} == {f"d{n}" for n in range(acknowledged + 1)}
    product.command("fsck")
