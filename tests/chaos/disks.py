"""Small disks of their own, and a product whose database is on one."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest
from django.core.management import call_command
from pytest_django import DjangoDbBlocker

from kmapp.accounts.models import Account
from kmapp.database.provision import Login, provision
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.metrics_files import get_metrics_folder
from tests import makers
from tests.chaos.conftest import ROLES, ChaosServer, connected_to
from tests.chaos.product import Product

MEGABYTE = 2**20
D = TypeVar("D", bound="Disk")
LOOP_DEVICES = Path("/dev/loop-control")
DATABASE = "small"
MAX_WAL_MEGABYTES = 200  # more than the segments that a small server has in store


def run(*words: str | Path) -> None:
    subprocess.run(words, check=True, capture_output=True)


def may_mount() -> bool:
    words = ["unshare", "-m", "true"]
    return os.getuid() == 0 and subprocess.run(words, check=False).returncode == 0


def may_mount_files() -> bool:
    """Return whether a file can be mounted as a disk."""
    return may_mount() and LOOP_DEVICES.exists() and shutil.which("mkfs.ext4") is not None


class Disk:
    """A small disk in memory."""

    def __init__(self, folder: Path, kilobytes: int) -> None:
        self.folder = folder
        folder.mkdir(mode=0o711)
        run("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k,mode=711", "tmpfs", folder)

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
        run("mount", "-o", f"remount,{mode}", self.folder)

    def unmount(self) -> None:
        run("umount", "-l", self.folder)


class FileDisk(Disk):
    """A disk in a file, which becomes read-only as after an error of the hardware."""

    def __init__(self, folder: Path, kilobytes: int) -> None:
        self.folder, self.file = folder, folder.with_suffix(".image")
        folder.mkdir(mode=0o711)
        with self.file.open("wb") as image:
            image.truncate(kilobytes * 1024)
        run("mkfs.ext4", "-q", "-F", "-m", "0", self.file)
        self.mount()
        folder.chmod(0o711)

    def mount(self) -> None:
        run("mount", "-o", "loop", self.file, self.folder)

    def fail(self) -> None:
        """Become read-only although files are open for writing, until it is mounted again."""
        # Older kernels report that it is read-only, as an error.
        words = ["mount", "-o", "remount,abort", str(self.folder)]
        subprocess.run(words, check=False, capture_output=True)
        with pytest.raises(OSError, match="Read-only"):
            (self.folder / "probe").touch()

    def unmount(self) -> None:
        super().unmount()
        self.file.unlink()

    def repair(self) -> None:
        """Check the disk and mount it again. No process may use it."""
        run("umount", self.folder)
        check = subprocess.run(["fsck.ext4", "-y", self.file], check=False, capture_output=True)
        assert check.returncode <= 1, check.stdout  # 1: errors were corrected
        self.mount()


@contextmanager
def mounted(disk: D) -> Iterator[D]:
    try:
        yield disk
    finally:
        disk.unmount()


@contextmanager
def product_with_database_in(
    folder: Path, home: Path, chaos_server: ChaosServer, blocker: DjangoDbBlocker
) -> Iterator[tuple[Product, Account, Postgres]]:
    """Start a server with its data in `folder`, and yield a product, an account and the server.

    The data folder of the product is `home`, and its metrics are where `make up` stores them.
    Within the block this process is connected to its database.
    """
    home.mkdir(mode=0o711, exist_ok=True)
    metrics = get_metrics_folder(home)
    metrics.mkdir(parents=True)
    server = Postgres(folder / "postgres", chaos_server.home / "sm", home / "postgres.log")
    with server:
        owner, app = Login(ROLES["owner"]), Login(ROLES["app"])
        provision(server.url(), database=DATABASE, owner=owner, app=app)
        with blocker.unblock(), connected_to(server, DATABASE):
            call_command("migrate", database="owner", verbosity=0)
            call_command("embedding_models", "ensure", verbosity=0)
            account = makers.account("Acme")
            product = Product(home, server.url(ROLES["app"], DATABASE))
            product.key = makers.key(account)[1]
            product.extra_environment = {"PROMETHEUS_MULTIPROC_DIR": str(metrics)}
            try:
                yield product, account, server
            finally:
                product.kill(*product.running)
                shutil.rmtree(metrics)


def begin_wal_segment(server: Postgres) -> None:
    """Let the server use a new segment of 16 MB, so that it does not need another one soon.

    PostgreSQL stops if it cannot create the next segment.
    """
    with connect_superuser(server) as superuser:
        superuser.execute("SELECT pg_switch_wal()")
        superuser.execute("CHECKPOINT")


def connect_superuser(server: Postgres) -> psycopg.Connection:
    """Connect to the database of the product. A server with a full disk may refuse connections."""
    return psycopg.connect(server.url(database=DATABASE), autocommit=True)


def use_up_wal_segments(superuser: psycopg.Connection) -> None:
    """Write to the log of a server whose disk is full, until it needs a segment and stops."""
    write = (
        "SELECT count(pg_logical_emit_message(false, 'chaos', repeat('x', 1000000)))"
        " FROM generate_series(1, %s)"
    )
    with pytest.raises(psycopg.OperationalError):
        superuser.execute(write, [MAX_WAL_MEGABYTES])
