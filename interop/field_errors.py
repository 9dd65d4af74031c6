"""Errors about one field of a request."""

from kmapp.errors import Invalid


def field_error(path: str, problem: str) -> Invalid:
    """Return the error for a field, such as `limit` with the problem "must be a number"."""
    return Invalid(f"{path} {problem}.", issues=[{"path": path, "message": problem}])
