"""What a whole chain cannot show: rewritten, cut, restored. The signed file remembers."""

from collections.abc import Iterator
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import update_account
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.models import Checkpoint
from tests import makers
from tests.kernel.fsck.fixtures import Ledger


@pytest.mark.promise(28)
def test_rewritten_suffix_is_reported(ledger: Ledger) -> None:
    links = ledger.links()
    forged = [*links[:3], *(_by(link, "user:" + str(link.id)) for link in links[3:])]
    ledger.intruder.rehash(forged, ledger.account.pk)
    found = ledger.problems("--chain-only")
    assert [(p["kind"], p["seq"]) for p in found if p["kind"] != "version"] == [
        ("rewritten", len(links))
    ]


def _by(link: Any, actor: str) -> Any:
    return replace(link, actor=actor)


@pytest.mark.promise(28)
def test_truncated_chain_is_reported(ledger: Ledger) -> None:
    length = len(ledger.links())
    ledger.intruder.run(
        "DELETE FROM ledger_commit WHERE account_id = %s AND seq > %s",
        ledger.account.pk,
        length - 3,
    )
    found = ledger.problems("--chain-only")
    assert ("cut", length) in [(problem["kind"], problem["seq"]) for problem in found]


@pytest.mark.promise(28)
def test_restored_old_dump_is_reported(ledger: Ledger) -> None:
    """What was signed after the dump is missed: new commits, new accounts."""
    dump = settings.CHECKPOINT_FILE.read_bytes()
    with acting(ledger.account):
        update_account(ledger.account, redact=[], account_wide="apply", actor=SYSTEM)
    makers.account("Newcomer")
    call_command("checkpoint", stdout=StringIO())
    assert ledger.problems() == []
    later = settings.CHECKPOINT_FILE.read_bytes()
    newcomer = ledger.intruder.one("SELECT id FROM accounts_account WHERE slug = 'newcomer'")
    for table in ("ledger_commit", "ledger_seal", "ledger_note", "ledger_checkpoint"):
        ledger.intruder.run(f"DELETE FROM {table} WHERE account_id = %s", newcomer)  # noqa: S608
    ledger.intruder.run("DELETE FROM accounts_account WHERE id = %s", newcomer)
    ledger.intruder.run(
        "DELETE FROM ledger_commit WHERE account_id = %s AND seq = %s",
        *(ledger.account.pk, len(ledger.links())),
    )
    assert {"account", "cut"} <= ledger.kinds()
    assert later.startswith(dump)


def test_broken_chain_is_not_signed(ledger: Ledger) -> None:
    with acting(ledger.account):
        update_account(ledger.account, redact=[], account_wide="apply", actor=SYSTEM)
    ledger.intruder.run(
        "UPDATE ledger_commit SET actor = 'user:evil' WHERE account_id = %s AND seq = %s",
        *(ledger.account.pk, len(ledger.links())),
    )
    before = settings.CHECKPOINT_FILE.read_bytes()
    with pytest.raises(CommandError, match="1 chains are broken"):
        call_command("checkpoint", stdout=StringIO(), stderr=StringIO())
    assert settings.CHECKPOINT_FILE.read_bytes() == before


def test_replaced_signed_commit_is_not_signed_again(ledger: Ledger) -> None:
    links = ledger.links()
    ledger.intruder.rehash([_by(link, "system:0") for link in links], ledger.account.pk)
    with pytest.raises(CommandError, match="1 chains are broken"):
        call_command("checkpoint", stdout=StringIO(), stderr=StringIO())


class TestCheckpointFile:
    """The file is believed line by line, as it was signed."""

    @pytest.fixture
    def lines(self, ledger: Ledger) -> Iterator[list[bytes]]:
        lines = settings.CHECKPOINT_FILE.read_bytes().splitlines(keepends=True)
        assert len(lines) == 2
        yield lines
        settings.CHECKPOINT_FILE.write_bytes(b"".join(lines))

    def test_edited_line_is_reported(self, ledger: Ledger, lines: list[bytes]) -> None:
        edited = lines[0].replace(b'"seq":', b'"seq":1')
        assert edited != lines[0]
        lines[0] = edited
        settings.CHECKPOINT_FILE.write_bytes(b"".join(lines))
        assert ledger.kinds() == {"checkpoint"}

    def test_line_of_another_key_is_reported(self, ledger: Ledger, lines: list[bytes]) -> None:
        settings.CHECKPOINT_KEY_FILE = settings.CHECKPOINT_KEY_FILE.with_name("another")
        with acting(ledger.account):
            update_account(ledger.account, redact=[], account_wide="apply", actor=SYSTEM)
        call_command("checkpoint", stdout=StringIO())
        ours = Path(f"{settings.CHECKPOINT_KEY_FILE.with_name('checkpoint.ed25519')}.pub")
        found = ledger.problems("--public-key", str(ours))
        assert "unknown key" in found[0]["message"]

    def test_truncated_last_line_is_a_warning(self, ledger: Ledger, lines: list[bytes]) -> None:
        settings.CHECKPOINT_FILE.write_bytes(b"".join(lines) + lines[0][:50])
        out = StringIO()
        call_command("fsck", stdout=out)
        assert "cut short by a crash" in out.getvalue()

    def test_missing_file_is_reported_from_database_copies(
        self, ledger: Ledger, lines: list[bytes]
    ) -> None:
        settings.CHECKPOINT_FILE.unlink()
        assert ledger.kinds() == {"checkpoint"}
        assert Checkpoint._meta.db_table == "ledger_checkpoint"
