"""Registry of checks and the shape of their findings."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module

import structlog

log = structlog.get_logger()
MAX_NAMES = 5
# In the order of the output. A check comes after those that it needs.
MODULES = (
    "versions",
    "configuration",
    "database",
    "schema",
    "clock",
    "connections",
    "storage",
    "ledger",
    "jobs",
)


class Level(StrEnum):
    OK = "OK"
    WARNING = "WARNING"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """The result of one check. `remedy` says what to do, unless the level is OK."""

    level: Level
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class CheckLine:
    """A finding with the name of its check."""

    check: str
    finding: DoctorFinding


CheckFunction = Callable[[], Iterable[DoctorFinding]]


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    run: CheckFunction
    needs: str  # another check; without its success this one is skipped


_checks: dict[str, Check] = {}


def check(name: str, *, needs: str = "") -> Callable[[CheckFunction], CheckFunction]:
    def register(run: CheckFunction) -> CheckFunction:
        _checks[name] = Check(name, run, needs)
        return run

    return register


def ok(message: str) -> DoctorFinding:
    return DoctorFinding(Level.OK, message)


def warning(message: str, remedy: str) -> DoctorFinding:
    return DoctorFinding(Level.WARNING, message, remedy)


def error(message: str, remedy: str) -> DoctorFinding:
    return DoctorFinding(Level.ERROR, message, remedy)


def join_names(names: Sequence[str]) -> str:
    """Return the names in one line, the first ones if there are many."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def run_checks() -> Iterator[CheckLine]:
    """Run all checks, and skip those that need a failed one. A check that raises has failed."""
    order = {
        import_module(f"kmapp.management.doctor.{name}").__name__: n
        for n, name in enumerate(MODULES)
    }
    failed: set[str] = set()
    for each in sorted(_checks.values(), key=lambda check: order.get(check.run.__module__, 0)):
        if each.needs in failed:
            failed.add(each.name)
            yield CheckLine(each.name, warning(f"not checked, because {each.needs} failed", ""))
            continue
        for finding in _run_check(each):
            if finding.level == Level.ERROR:
                failed.add(each.name)
            yield CheckLine(each.name, finding)


def _run_check(each: Check) -> list[DoctorFinding]:
    try:
        return list(each.run())
    except Exception as problem:
        log.exception("doctor_check_failed", check=each.name)
        name = type(problem).__name__
        return [error(f"could not be checked: {name}", "The log has the details.")]
