"""`manage.py doctor` reports old backups, and copies of the checkpoints that are not up to date."""

import os
import time
from pathlib import Path

from django.core.cache import cache
from pytest_django import Settings

from kmapp.ledger.checkpoint_copies import list_configured_copies
from kmapp.ledger.checkpoint_copy_thread import CopyThread
from kmapp.management.doctor.ledger import check_copies
from kmapp.management.doctor.storage import check_backups
from kmapp.runtime.embedded.temporary_servers import free_port
from tests.kernel.test_doctor import run


def test_backup_is_due_every_day(settings: Settings, tmp_path: Path) -> None:
    """A backup that was missed once is reported; the documentation says to run it every day."""
    settings.BACKUPS_DIR = tmp_path
    backup = tmp_path / "kmapp-1.zip"
    backup.touch()
    levels = []
    for age in (1.5, 2.5):  # days
        os.utime(backup, (time.time() - age * 86_400,) * 2)
        [finding] = check_backups()
        levels.append(finding.level)
        assert finding.level == "OK" or "backup every day" in finding.remedy
    assert levels == ["OK", "WARNING"]
    documentation = (settings.BASE_DIR / "docs" / "operations.md").read_text()
    assert "Run `manage.py backup` every day" in documentation
    assert "is more than two days old" in documentation


def test_copies_of_the_checkpoints(settings: Settings, tmp_path: Path) -> None:
    assert run(check_copies) == ["OK none is configured"]
    settings.CHECKPOINT_COPY_FILE = str(tmp_path / "copy.ndjson")
    settings.CHECKPOINT_PEER_URL = f"http://127.0.0.1:{free_port()}"
    settings.CHECKPOINT_PEER_KEY = "none"
    cache.clear()
    unknown = "is not up to date: Its state is unknown. Check that beat runs."
    assert run(check_copies) == [
        f"WARNING the file copy {unknown}",
        f"WARNING the peer copy {unknown}",
    ]
    for copy in list_configured_copies():
        CopyThread(copy).run_once()
    assert run(check_copies) == [
        "WARNING the peer copy is not up to date: The peer could not be reached."
    ]
    assert all(finding.remedy for finding in check_copies())
    settings.CHECKPOINT_PEER_URL = ""
    assert run(check_copies) == ["OK up to date: file"]
