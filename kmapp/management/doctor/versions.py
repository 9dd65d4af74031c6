"""Versions of Python and of the packages in the lock file. Servers are in their own modules."""

import platform
import sys
from collections.abc import Iterator
from importlib import metadata

from django.conf import settings
from packaging.requirements import Requirement

import kmapp
from kmapp.management.doctor.registry import DoctorFinding, check, error, join_names, ok

PYTHON = (3, 11)


@check("python")
def check_python() -> Iterator[DoctorFinding]:
    if sys.version_info < PYTHON:
        yield error(
            f"Python {platform.python_version()} is too old",
            "Install Python 3.11 or later and create the environment again.",
        )
    else:
        yield ok(f"Python {platform.python_version()}, kmapp {kmapp.__version__}")


@check("packages")
def check_packages() -> Iterator[DoctorFinding]:
    """Compare the installed packages with the lock file, or with the wheel's requirements."""
    required = list(_list_requirements())
    wrong = [text for each in required if (text := _describe_difference(each))]
    if not wrong:
        yield ok(f"{len(required)} packages as locked")
        return
    yield error(
        f"packages differ from the lock file: {join_names(wrong)}",
        "Run pip install --require-hashes -r requirements.txt in the environment of kmapp.",
    )


def _list_requirements() -> Iterator[Requirement]:
    """Yield the pinned requirements that apply on this machine."""
    lock = settings.BASE_DIR / "requirements.txt"
    if settings.IS_INSTALLED or not lock.exists():
        lines = metadata.requires("kmapp") or []
    else:
        text = lock.read_text()
        lines = [line.rstrip(" \\") for line in text.splitlines() if line[:1].isalnum()]
    for line in lines:
        requirement = Requirement(line)
        if not requirement.marker or requirement.marker.evaluate({"extra": ""}):
            yield requirement


def _describe_difference(requirement: Requirement) -> str:
    """Return how the installed package differs, or an empty string."""
    try:
        installed = metadata.version(requirement.name)
    except metadata.PackageNotFoundError:
        return f"{requirement.name} is missing"
    if requirement.specifier.contains(installed, prereleases=True):
        return ""
    return f"{requirement.name} is {installed} instead of {requirement.specifier}".replace("==", "")
