"""An export ends with an error at a commit whose list of changes was edited in the database."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from tests import makers

MALFORMED = [
    {},
    [],
    ["ADD"],
    [{"op": "ADD"}],
    [{"object": 1, "op": "ADD", "digest": None}],
    [{"object": "memory.memoryentry:1", "op": "ADD", "digest": None}],
]


@pytest.mark.parametrize("diff", MALFORMED)
def test_error_names_the_commit(acme: Account, tmp_path: Path, diff: Any) -> None:
    makers.write(acme, "The cat sleeps.")
    path = tmp_path / "out.jsonl"
    makers.run_command("memories", "export", "--account=acme", path)
    path.unlink()
    with acting(acme):
        last = Commit.objects.of(acme).latest("seq")
        Commit.objects.create(
            account_id=acme.pk,
            seq=last.seq + 1,
            parent_hash=last.commit_hash,
            commit_hash="0" * 64,
            actor="system",
            created_at=timezone.now(),
            input_digest="0" * 64,
            diff=diff,
        )
    with pytest.raises(CommandError, match=f"commit {last.seq + 1} of the ledger is malformed"):
        makers.run_command("memories", "export", "--account=acme", path)
    assert not path.exists()
