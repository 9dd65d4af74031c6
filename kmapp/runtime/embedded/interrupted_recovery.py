"""Interrupted point-in-time recoveries: finish them, or refuse an empty database. No Django.

`postgres.restored` has the data of a recovery until it has reached its target, and
`postgres.before-20261125T143000Z` the data before it.
"""

import struct
from datetime import UTC, datetime
from pathlib import Path

from kmapp.runtime.processes import CannotStart

SHUT_DOWN = 1  # state in PostgreSQL's control file: after a recovery, and not during one


def get_recovered_folder(data: Path) -> Path:
    return data.with_name(f"{data.name}.restored")


def build_former_folder(data: Path, moment: datetime) -> Path:
    return data.with_name(f"{data.name}.before-{moment:%Y%m%dT%H%M%SZ}")


def finish_interrupted_swap(data: Path) -> Path | None:
    """Put recovered data in place if a recovery was killed after it had moved the former away.

    Return the folder of the former data, or None if there was no such recovery.
    """
    recovered, former = get_recovered_folder(data), max(_list_former_folders(data), default=None)
    control = recovered / "global" / "pg_control"
    if data.exists() or former is None or not control.exists():
        return None
    ended = datetime.fromtimestamp(control.stat().st_mtime, UTC)
    is_shut_down = control.read_bytes()[16:20] == struct.pack("=i", SHUT_DOWN)
    # Former data that are older than the recovered ones belong to another recovery.
    if not is_shut_down or former < build_former_folder(data, ended):
        return None
    data.unlink(missing_ok=True)  # a link without a target
    recovered.rename(data)
    return former


def require_no_set_aside_data(data: Path) -> None:
    """Raise CannotStart if an empty database would be created beside data that were set aside."""
    recovered = get_recovered_folder(data)
    folders = [*sorted(_list_former_folders(data)), *([recovered] if recovered.exists() else [])]
    if not folders:
        return
    raise CannotStart(
        f"{data} is missing, but there is {' and '.join(path.name for path in folders)} next to it:"
        " a recovery was interrupted, or the data were moved away. No empty database is created."
        f" For the data before the last recovery, rename {data.name}.before-… to {data.name}. To"
        " recover again, run `restore --until`. For an empty database, move these folders to"
        " another place. See 'Point-in-time recovery' in docs/operations.md."
    )


def _list_former_folders(data: Path) -> list[Path]:
    return [path for path in data.parent.glob(f"{data.name}.before-*") if path.exists()]
