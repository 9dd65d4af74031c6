"""The product through PgBouncer in transaction mode: sessions are shared by requests and jobs."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections

from kmapp.accounts.acting import acting
from kmapp.database.provision import Login, set_role_defaults
from kmapp.management.doctor.database import check_session_settings
from kmapp.management.doctor.registry import Level
from kmapp.runtime import embedded, env
from kmapp.runtime.embedded.postgres import UNPRIVILEGED
from kmapp.runtime.processes import get_account_ids, wait_until
from memory.models import MemoryEntry
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.race import run_on_own_connection
from tests.standby import admit_account

PROGRAM = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")
SESSIONS = 2  # of the server, for all clients
CLIENTS, REQUESTS = 8, 48
APP = embedded.ROLES["app"]
CONFIGURATION = """
[databases]
* = host={sockets}
[pgbouncer]
unix_socket_dir = {folder}
listen_port = 6432
auth_type = trust
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = {sessions}
ignore_startup_parameters = options
admin_users = {app}
logfile = {folder}/log
"""


@pytest.fixture
def pooler(committed: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Connect the app role through PgBouncer; yield the name of the database."""
    folder = Path(mkdtemp(dir=settings.DATA_DIR))
    sockets = embedded.get_postgres_sockets(settings.DATA_DIR)
    values = {"folder": folder, "sockets": sockets, "sessions": SESSIONS, "app": APP}
    (folder / "ini").write_text(CONFIGURATION.format(**values))
    (folder / "users").write_text(f'"{APP}" ""\n')
    words = [str(PROGRAM), str(folder / "ini")]
    if os.getuid() == 0:  # like PostgreSQL, PgBouncer does not run as root
        words += ["-u", UNPRIVILEGED]
        for path in (folder, *folder.iterdir()):
            os.chown(path, *get_account_ids(UNPRIVILEGED))
        admit_account(UNPRIVILEGED)
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until((folder / ".s.PGSQL.6432").exists, 20), (folder / "log").read_text()
        for entry in (connection.settings_dict, settings.DATABASES["default"]):
            monkeypatch.setitem(entry, "HOST", str(folder))
            monkeypatch.setitem(entry, "PORT", "6432")
        _disconnect()
        yield committed
    finally:
        _disconnect()
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder)


def _disconnect() -> None:
    connections["default"].close()
    connections["default"].close_pool()  # type: ignore[attr-defined]  # of Django's PostgreSQL


def _count_without_account() -> int:
    return MemoryEntry.objects.count()


def _write_and_search(tag: str, agent: Agent, number: int) -> None:
    agent.store(f"{tag} keeps note {number} in the cellar", user_id="ann")
    results = agent.search("Which notes are in the cellar?", user_id="ann")
    assert results
    assert {result["text"].split()[0] for result in results} == {tag}
    assert _count_without_account() == 0, "the account of another transaction remained"


def test_accounts_stay_apart_in_shared_sessions(pooler: str, provider: FakeProvider) -> None:
    accounts = {tag: makers.account(tag) for tag in ("Acme", "Rival")}
    agents = {tag: makers.agent(account) for tag, account in accounts.items()}
    with ThreadPoolExecutor(CLIENTS) as threads:
        tasks = [
            threads.submit(run_on_own_connection, partial(_write_and_search, tag, agent, number))
            for number in range(REQUESTS // 2)
            for tag, agent in agents.items()
        ]
        for task in tasks:
            task.result(60)
    assert makers.settle() > 0
    for tag, account in accounts.items():
        with acting(account):
            # A server-side cursor needs the same session until the end of its transaction.
            texts = [entry.content for entry in MemoryEntry.objects.iterator(chunk_size=5)]
        assert len(texts) == REQUESTS // 2
        assert all(text.startswith(tag) for text in texts)
    call_command("checkpoint", verbosity=0)
    call_command("fsck", verbosity=0)
    query = "SELECT count(*) FROM pg_stat_activity WHERE usename = %s AND datname = %s"
    with psycopg.connect(embedded.server_url(settings.DATA_DIR)) as superuser:
        assert superuser.execute(query, [APP, pooler]).fetchone() == (SESSIONS,)


def test_doctor_misses_settings_that_pgbouncer_drops_until_provision_sets_them(pooler: str) -> None:
    [finding] = check_session_settings()
    assert finding.level == Level.ERROR
    assert "lock_timeout is 0" in finding.message
    url = embedded.server_url(settings.DATA_DIR)
    with psycopg.connect(url, dbname=pooler, autocommit=True) as superuser:
        set_role_defaults(superuser, Login(APP), settings.DATABASE_SESSION)
    with psycopg.connect(
        **{**env.address(settings.DATABASES["default"]), "dbname": "pgbouncer", "options": ""},
        autocommit=True,
        cursor_factory=psycopg.ClientCursor,  # the admin console supports simple queries only
    ) as console:
        console.execute("RECONNECT")
    _disconnect()
    [finding] = check_session_settings()
    assert finding.level == Level.OK, finding.message
