"""Point-in-time recovery of the embedded PostgreSQL into a fresh data folder. No Django.

The recovery runs in a folder of its own, which replaces the former one only when it has reached its
target; the former data are kept under another name.
"""

import shutil
import tarfile
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import psycopg

from kmapp.runtime import processes
from kmapp.runtime.embedded.base_backups import BaseBackup, list_base_backups
from kmapp.runtime.embedded.interrupted_recovery import (
    build_former_folder,
    finish_interrupted_swap,
    get_recovered_folder,
)
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.wal_archive import (
    archive_segment,
    build_restore_command,
    get_cluster_folder,
)
from kmapp.runtime.processes import CannotStart, read_tail

NOT_REACHED = "recovery ended before configured recovery target was reached"
POLL_SECONDS, REPORT_SECONDS = 0.2, 10.0


def choose_base_backup(root: Path, until: datetime | None) -> BaseBackup:
    """Return the last base backup that ended before the moment."""
    backups = [backup for backup in list_base_backups(root) if backup.is_continued()]
    usable = [backup for backup in backups if until is None or backup.ended <= until]
    if not usable:
        raise CannotStart(
            f"The first base backup in {root} ended at {backups[0].ended:%Y-%m-%d %H:%M:%S} UTC: "
            "an earlier time cannot be restored."
            if backups
            else f"There is no base backup in {root}: run `base_backup` regularly, with PITR_DAYS."
        )
    return usable[-1]


def recover(live: Postgres, until: datetime | None, report: Callable[[str], None]) -> Path | None:
    """Restore the state of a moment, or the last archived one, in place of `live`'s data.

    Return the folder of the former data, or None if there were none. A recovery that was killed
    after it had reached its target is only finished: a second one from the same archive would
    follow the timeline of the first, which ends there.
    """
    assert live.archive is not None  # noqa: S101 - for mypy
    if former := finish_interrupted_swap(live.data):
        report(
            "The interrupted recovery had reached its own target and is finished. To recover to"
            " another time, see 'Point-in-time recovery' in docs/operations.md."
        )
        return former
    base = choose_base_backup(live.archive, until)
    report(f"base backup of {base.ended:%Y-%m-%d %H:%M:%S} UTC: {base.folder}")
    target = {"recovery_target_time": until.isoformat()} if until else {}
    fresh = replace(
        live,
        data=get_recovered_folder(live.data),
        log=live.log.with_name("postgres-restore.log"),
        extra_settings={
            "restore_command": build_restore_command(base.wal),
            "recovery_target_action": "promote",
            **target,
        },
    )
    _remove(fresh.data)
    fresh.log.unlink(missing_ok=True)
    try:
        _unpack(base, fresh.make_folder(), live.data)
        last = _replay(fresh, report)
        report(f"The last transaction is of {last or 'the base backup'}.")
    except BaseException:
        _remove(fresh.data)
        raise
    if live.data.exists():
        former = build_former_folder(live.data, datetime.now(UTC))
        live.data.rename(former)  # as root it may be a link, which is renamed
    live.data.unlink(missing_ok=True)  # a link without a target
    fresh.data.rename(live.data)
    return former


def _remove(data: Path) -> None:
    """Remove what an interrupted recovery left."""
    if data.is_symlink():
        shutil.rmtree(data.readlink().parent, ignore_errors=True)
        data.unlink()
    shutil.rmtree(data, ignore_errors=True)


def _unpack(base: BaseBackup, data: Path, former: Path) -> None:
    for name, folder in (("base.tar.gz", data), ("pg_wal.tar.gz", data / "pg_wal")):
        with tarfile.open(base.folder / name) as archive:
            # Absent before Python 3.11.4.
            archive.extraction_filter = getattr(tarfile, "tar_filter", lambda member, _path: member)
            archive.extractall(folder)  # noqa: S202 - written by pg_basebackup
    _copy_unarchived_segments(base, former, data / "pg_wal")
    (data / "recovery.signal").touch(mode=0o600)
    data.chmod(0o700)


def _copy_unarchived_segments(base: BaseBackup, former: Path, wal: Path) -> None:
    """Copy the last segments of the same cluster, if its disk survived, so that nothing is lost.

    Complete ones go to the archive too, as the next recovery needs them and does not see this disk.
    """
    if not (former / "global" / "pg_control").exists():
        return
    if get_cluster_folder(base.folder.parent.parent, former) != base.folder.parent:
        return
    segments = [path for path in (former / "pg_wal").iterdir() if len(path.name) == 24]  # noqa: PLR2004
    for path in segments:
        status = former / "pg_wal" / "archive_status" / path.name
        if not status.with_suffix(".done").exists():  # the server ignores older records
            shutil.copyfile(path, wal / path.name)
        if status.with_suffix(".ready").exists():
            archive_segment(path, base.wal)


def _replay(fresh: Postgres, report: Callable[[str], None]) -> datetime | None:
    """Run the server until it has reached the target; return the last transaction's time."""
    fresh.prepare()
    process = fresh.process = processes.start(fresh.program(), fresh.log)
    due = time.monotonic() + REPORT_SECONDS
    try:
        while True:
            if process.poll() is not None:
                raise CannotStart(_explain(read_tail(fresh.log, lines=30)))
            recovering, last = _read_progress(fresh)
            if not recovering:
                return last
            if time.monotonic() > due:
                due += REPORT_SECONDS
                report(f"replayed until {last or 'the end of the base backup'}")
            time.sleep(POLL_SECONDS)
    finally:
        fresh.stop()


def _read_progress(server: Postgres) -> tuple[bool, datetime | None]:
    """Return whether the recovery is under way, and the time of the last replayed transaction."""
    try:
        with psycopg.connect(server.url(), connect_timeout=2) as connection:
            query = "SELECT pg_is_in_recovery(), pg_last_xact_replay_timestamp()"
            [row] = connection.execute(query).fetchall()
            return row
    except psycopg.OperationalError:  # not yet consistent
        return True, None


def _explain(log: str) -> str:
    if NOT_REACHED in log:
        return (
            "No archived transaction is later than this time. If you want the last one, use --until"
            f" latest. The data are as before.\n{_remove_refusals(log)}"
        )
    return f"PostgreSQL could not recover. The data are as before.\n{_remove_refusals(log)}"


def _remove_refusals(log: str) -> str:
    """Return the log without the answers to our own attempts to connect."""
    return "\n".join(line for line in log.splitlines() if "the database system is" not in line)
