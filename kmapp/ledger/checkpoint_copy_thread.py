"""The thread that keeps a copy of the checkpoint file up to date. It delays no signing."""

import threading
import time
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.core.cache import cache
from prometheus_client import Counter

from kmapp.ledger.checkpoint_copies import Copy, CopyFailed, list_configured_copies
from kmapp.ledger.checkpoint_file import get_checkpoint_file
from kmapp.ledger.signing import (
    Signed,
    append_statements,
    get_public_keys_path,
    is_signed_by,
    load_public_keys,
    lock_for_signing,
)

COMPARE_INTERVAL_SECONDS = 60.0  # between two comparisons with what the copy has
MAX_PAUSE_SECONDS = 60.0
START_SECONDS = 60.0  # in which the first comparison usually ends
STATUS_SECONDS = 600  # after which the state of a copy is unknown

FORGED = (
    "The copy has checkpoints that no key of this installation signed. Compare it with"
    " CHECKPOINT_FILE."
)
FAILURES = Counter("kmapp_checkpoint_copy_failures", "Failed rounds of copying.", ["copy"])
log = structlog.get_logger()


class CopyThread(threading.Thread):
    """Sends new statements to one copy, and regularly compares the file with it."""

    def __init__(self, copy: Copy) -> None:
        super().__init__(name=f"checkpoint copy: {copy.name}", daemon=True)
        self.copy = copy
        self.stopping = threading.Event()
        self.has_run = threading.Event()  # set after the first round
        self.stored: dict[UUID, Signed] = {}
        self.compared = -COMPARE_INTERVAL_SECONDS
        self.failed = 0
        self.is_forged = False  # at the last comparison

    def compare_once(self) -> None:
        """Compare, and send nothing. A failure is logged, because the product starts without it."""
        try:
            self._compare()
        except Exception as error:  # noqa: BLE001 - the thread in the scheduler tries again
            log.warning("checkpoint_copy_failed", copy=self.copy.name, error=str(error))

    def run(self) -> None:
        while True:
            self.run_once()
            self.has_run.set()
            pause = min(settings.CHECKPOINT_SECONDS * 2**self.failed, MAX_PAUSE_SECONDS)
            if self.stopping.wait(pause):
                return

    def run_once(self) -> None:
        """Compare if it is due, and send what is new. A failure is counted and tried again."""
        try:
            self._compare()
            if new := get_checkpoint_file().list_missing_from(self.stored):
                self.copy.store(new)
                self.stored |= {each.statement.account: each for each in new}
            if self.is_forged:
                raise CopyFailed(FORGED)
        except Exception as error:  # noqa: BLE001 - the next round tries again
            message = FORGED if self.is_forged else str(error)
            self.failed = min(self.failed + 1, 6)
            self.compared = -COMPARE_INTERVAL_SECONDS
            FAILURES.labels(self.copy.name).inc()
            log.warning("checkpoint_copy_failed", copy=self.copy.name, error=message)
            cache.set(f"checkpoint-copy:{self.copy.name}", {"error": message}, STATUS_SECONDS)
        else:
            self.failed = 0
            status = {"error": "", "at": time.time()}
            cache.set(f"checkpoint-copy:{self.copy.name}", status, STATUS_SECONDS)

    def _compare(self) -> None:
        if time.monotonic() - self.compared < COMPARE_INTERVAL_SECONDS:
            return
        self.is_forged = False
        statements = self.copy.load()
        self.is_forged = restore_lost_statements(statements, self.copy.name)
        self.stored = {each.statement.account: each for each in statements}
        self.compared = time.monotonic()


def restore_lost_statements(stored: Sequence[Signed], name: str) -> bool:
    """Add statements of ours that the file has lost. Chains that lack them become read-only.

    Return whether there were others that are not signed with a key of ours.
    """
    with lock_for_signing(settings.CHECKPOINT_FILE):
        path = get_public_keys_path(settings.CHECKPOINT_KEY_FILE)
        keys = load_public_keys(path) if path.exists() else {}
        lost = list[Signed]()
        is_forged = False
        for signed in filter(get_checkpoint_file().is_missing, stored):
            account = str(signed.statement.account)
            if is_signed_by(keys, signed):
                log.error("checkpoint_file_older_than_copy", copy=name, account=account)
                lost.append(signed)
            else:
                log.error("checkpoint_copy_forged", copy=name, account=account)
                is_forged = True
        if lost:
            append_statements(settings.CHECKPOINT_FILE, lost)
    return is_forged


def compare_with_copies() -> None:
    """Compare the file with each copy once, before the first write.

    Wait at most START_SECONDS, as `start_copy_threads` does.
    """
    rounds = [
        threading.Thread(target=CopyThread(copy).compare_once, daemon=True)
        for copy in list_configured_copies()
    ]
    for each in rounds:
        each.start()
    until = time.monotonic() + START_SECONDS
    for each in rounds:
        each.join(max(0.0, until - time.monotonic()))


def start_copy_threads() -> list[CopyThread]:
    """Start the threads, and wait until each has compared its copy once, or failed to.

    Wait at most START_SECONDS, because a copy may not respond, such as a network folder that is
    unavailable.
    """
    threads = [CopyThread(copy) for copy in list_configured_copies()]
    for thread in threads:
        thread.start()
    until = time.monotonic() + START_SECONDS
    for thread in threads:
        thread.has_run.wait(until - time.monotonic())
    return threads


def load_copy_status() -> dict[str, dict[str, Any]]:
    """Return the state of each configured copy as its thread last reported it."""
    unknown = {"error": "Its state is unknown. Check that beat runs."}
    return {
        copy.name: cache.get(f"checkpoint-copy:{copy.name}") or unknown
        for copy in list_configured_copies()
    }
