"""Confirmation prompts of commands."""

import re
from argparse import ArgumentTypeError
from datetime import timedelta

_DURATION = re.compile(r"\A(\d+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def confirm(question: str) -> bool:
    """Ask once; any answer except yes means no."""
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def parse_duration(text: str) -> timedelta:
    match = _DURATION.fullmatch(text)
    if not match:
        raise ArgumentTypeError(
            f"{text!r} is not a duration. Use a number with s, m, h, d or w, for example 30d."
        )
    return timedelta(**{_UNITS[match[2]]: int(match[1])})
