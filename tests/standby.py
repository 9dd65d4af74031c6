"""A standby of the tests' PostgreSQL server, and access of its system account."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from django.conf import settings

from kmapp.runtime import embedded
from kmapp.runtime.embedded.base_backups import run_postgres_program
from kmapp.runtime.embedded.embedded_server import make_runtime_dir
from kmapp.runtime.embedded.postgres import UNPRIVILEGED, Postgres
from tests.databases import CONNECTIONS


def admit_account(account: str) -> None:
    """Let a system account connect to the test server in any role."""
    server = settings.DATA_DIR / "postgres" / "pg_ident.conf"
    line = f"kmapp {account} all\n"
    if line not in server.read_text():
        with server.open("a") as file:
            file.write(line)
    with psycopg.connect(embedded.server_url(settings.DATA_DIR)) as superuser:
        superuser.execute("SELECT pg_reload_conf()")


@contextmanager
def run_standby() -> Iterator[Postgres]:
    """Copy the tests' server and run the copy as its hot standby."""
    if os.getuid() == 0:  # PostgreSQL does not run as root
        admit_account(UNPRIVILEGED)
    with ExitStack() as stack:
        place = Path(tempfile.mkdtemp(prefix="kmapp-", dir=settings.DATA_DIR))
        stack.callback(shutil.rmtree, place)
        place.chmod(0o711)
        sockets = embedded.get_runtime_dir(place)
        make_runtime_dir(sockets)
        stack.callback(shutil.rmtree, sockets)
        data, url = place / "postgres", embedded.server_url(settings.DATA_DIR)
        run_postgres_program(
            "pg_basebackup",
            *(f"--dbname={url}", f"--pgdata={data}"),
            *("--checkpoint=fast", "--write-recovery-conf"),
        )
        standby = Postgres(
            data,
            embedded.get_postgres_sockets(place),
            place / "postgres.log",
            durable=False,
            extra_settings={"max_standby_streaming_delay": "1s", **CONNECTIONS},
        )
        with standby:
            yield standby
