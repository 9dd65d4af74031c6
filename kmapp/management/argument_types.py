"""Types of arguments of management commands."""

from argparse import ArgumentTypeError


def parse_count(text: str, *, least: int = 1) -> int:
    """Return a whole number of at least `least`."""
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return number
