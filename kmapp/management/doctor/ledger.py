"""The ledger: signatures and copies of checkpoints, and chains that differ from signed heads."""

from collections.abc import Iterator
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from kmapp.accounts.models import account_ids
from kmapp.ledger.chain_deviations import (
    MAX_UNSIGNED_TIME,
    find_unsigned_since,
    list_deviations,
)
from kmapp.ledger.checkpoint_copy_thread import load_copy_status
from kmapp.ledger.fsck import Findings
from kmapp.ledger.fsck.checkpoints import load_public_keys, read_checkpoints
from kmapp.ledger.signing import get_public_keys_path
from kmapp.management.doctor.registry import DoctorFinding, check, error, ok, warning
from kmapp.management.doctor.storage import format_age


@check("checkpoint signatures")
def check_signatures() -> Iterator[DoctorFinding]:
    """Verify the signature of each checkpoint with the code of fsck."""
    findings = Findings()
    path = get_public_keys_path(settings.CHECKPOINT_KEY_FILE)
    read_checkpoints(
        settings.CHECKPOINT_FILE, load_public_keys([path] if path.exists() else []), findings
    )
    if findings.found:
        first = findings.problems[0].message
        yield error(
            f"{findings.found} checkpoints do not verify: {first}",
            f"Run {settings.COMMAND} fsck, and compare the file with your copy of it.",
        )
    else:
        yield ok(f"{findings.checkpoints} checkpoints verify")


@check("checkpoint copies", needs="valkey")
def check_copies() -> Iterator[DoctorFinding]:
    """Report the state of each copy as its thread in beat last reported it."""
    copies = load_copy_status()
    problems = {name: copy["error"] for name, copy in copies.items() if copy["error"]}
    for name, problem in problems.items():
        yield warning(
            f"the {name} copy is not up to date: {problem}",
            "It is tried again. Check beat and its log, and CHECKPOINT_COPY_FILE or"
            " CHECKPOINT_PEER_URL and its key.",
        )
    if not problems:
        yield ok(f"up to date: {', '.join(copies)}" if copies else "none is configured")


@check("ledger", needs="migrations")
def check_ledger() -> Iterator[DoctorFinding]:
    """Compare all chains with their signed heads, and look for commits that wait for one."""
    behind = list_deviations()
    for chain in behind:
        yield error(
            f"account {chain.account_id} {chain}",
            f"Run {settings.COMMAND} fsck, and put the newest copy of the database or"
            " CHECKPOINT_FILE back. If there is none, accept this state:"
            f" {settings.COMMAND} accept_ledger.",
        )
    broken = {chain.account_id for chain in behind}
    times = [
        time for each in account_ids() if each not in broken and (time := find_unsigned_since(each))
    ]
    oldest = timezone.now() - min(times) if times else timedelta(0)
    if oldest > MAX_UNSIGNED_TIME:
        yield error(
            f"commits have waited {format_age(oldest)} for a checkpoint",
            f"Check the scheduler and the worker, or run {settings.COMMAND} checkpoint.",
        )
    elif not behind:
        yield ok("every chain contains its signed head; checkpoints are recent")
