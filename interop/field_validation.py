"""Fields of requests, and errors about them."""

from typing import Any

from kmapp.errors import Invalid


def field_error(path: str, problem: str) -> Invalid:
    """Return the error for a field, such as `limit` with the problem "must be a number"."""
    return Invalid(f"{path} {problem}.", issues=[{"path": path, "message": problem}])


def read_texts(value: Any, path: str) -> list[str]:
    """Return a list of texts; None is an empty one."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise field_error(path, "must be a list of texts")
    return value
