"""Disk space and backups."""

import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from django.conf import settings

from kmapp.database.raw_sql import fetch_all
from kmapp.management.doctor.registry import DoctorFinding, check, error, ok, warning
from kmapp.runtime import env
from kmapp.runtime.embedded.base_backups import list_cluster_backups
from kmapp.runtime.embedded.wal_archive import get_cluster_folder

GIGABYTE = 1024**3
SPACE_WARNING, SPACE_ERROR = 5 * GIGABYTE, GIGABYTE
BACKUP_AGE = timedelta(days=2)  # a daily backup, and a day for it


@check("disk")
def check_disk() -> Iterator[DoctorFinding]:
    existing = sorted(folder for folder in _list_folders() if folder.exists())
    for folder in existing:
        if not os.access(folder, os.W_OK | os.X_OK):
            yield error(f"{folder} is not writable", "Let the user that runs kmapp write to it.")
    by_device = {folder.stat().st_dev: folder for folder in reversed(existing)}
    for folder in by_device.values():
        free = shutil.disk_usage(folder).free
        text = f"{free / GIGABYTE:,.1f} GB free in {folder}"
        remedy = "Free space or move the folder; PostgreSQL stops when its disk is full."
        if free >= SPACE_WARNING:
            yield ok(text)
        else:
            yield (error if free < SPACE_ERROR else warning)(text, remedy)


def _list_folders() -> set[Path]:
    folders = {settings.DATA_DIR, settings.BACKUPS_DIR, settings.CHECKPOINT_FILE.parent}
    folders.add((settings.DATA_DIR / "postgres").resolve())  # elsewhere if kmapp runs as root
    if settings.CHECKPOINT_COPY_FILE:
        folders.add(Path(settings.CHECKPOINT_COPY_FILE).parent)
    return folders


@check("backups")
def check_backups() -> Iterator[DoctorFinding]:
    folder: Path = settings.BACKUPS_DIR
    remedy = f"Run {settings.COMMAND} backup every day, and copy the file to another machine."
    times = {path.stat().st_mtime: path for path in folder.glob("*.zip")}
    if not times:
        yield warning(f"there is no backup in {folder}", remedy)
        return
    newest = max(times)
    age = datetime.now(UTC) - datetime.fromtimestamp(newest, UTC)
    text = f"the newest is {format_age(age)} old: {times[newest]}"
    yield ok(text) if age <= BACKUP_AGE else warning(text, remedy)


@check("wal archive", needs="database")
def check_archive() -> Iterator[DoctorFinding]:
    """Check archiving and base backups of the embedded PostgreSQL; others have their own tools."""
    if not settings.PITR_DAYS or env.text("DATABASE_URL"):
        yield ok("point-in-time recovery is off")
        return
    cluster = get_cluster_folder(settings.BACKUPS_DIR / "pitr", settings.DATA_DIR / "postgres")
    backups = [each for each in list_cluster_backups(cluster) if each.is_continued()]
    age = datetime.now(UTC) - backups[-1].ended if backups else None
    if age is None or age > BACKUP_AGE:
        text = (
            f"the newest base backup is {format_age(age)} old" if age else "there is no base backup"
        )
        yield warning(text, f"Run {settings.COMMAND} base_backup every day.")
    [(archives, segment, failing)] = fetch_all(
        "SELECT current_setting('archive_mode') = 'on', last_failed_wal, last_failed_time >"
        " coalesce(last_archived_time, '-infinity') FROM pg_stat_archiver"
    )
    if not archives:
        yield error(
            "PostgreSQL does not archive", "Restart kmapp: PITR_DAYS was set after its start."
        )
    elif failing:
        yield error(
            f"the segment {segment} cannot be archived, and the disk of the database fills up",
            f"See logs/postgres.log; free space in {settings.BACKUPS_DIR}.",
        )
    elif age and age <= BACKUP_AGE:
        yield ok(f"PostgreSQL archives; the newest base backup is {format_age(age)} old")


def format_age(age: timedelta) -> str:
    """Return an age in its largest unit."""
    seconds = max(int(age.total_seconds()), 0)
    for unit, size in (("days", 86_400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
