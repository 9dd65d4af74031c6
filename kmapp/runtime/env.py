"""Typed environment variables: an invalid value stops the start with an explanation.

An empty value counts as none, because a compose file passes unset variables as empty.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

N = TypeVar("N", int, float)


def text(name: str, default: str = "") -> str:
    return os.environ.get(name) or default


def flag(name: str, *, default: bool) -> bool:
    value = text(name, str(default))
    if value not in ("True", "False"):
        raise ImproperlyConfigured(f"{name}={value!r} is not valid. Use True or False.")
    return value == "True"


def integer(name: str, default: int, *, minimum: int = 0) -> int:
    number = _parse(name, default, int, "a whole number")
    if number < minimum:
        raise ImproperlyConfigured(
            f"{name}={number} is not valid. Use a whole number of at least {minimum}."
        )
    return number


def seconds(name: str, default: float) -> float:
    number = _parse(name, default, float, "a number of seconds")
    if not 0 < number < float("inf"):
        raise ImproperlyConfigured(
            f"{name}={os.environ[name]!r} is not valid. Use a positive number of seconds."
        )
    return number


def interval(name: str, default: str) -> str:
    """Return a duration as PostgreSQL writes it."""
    value = text(name, default)
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?(us|ms|s|min|h|d)?", value):
        raise ImproperlyConfigured(f"{name}={value!r} is not valid. Use a duration such as 5s.")
    return value


def _parse(name: str, default: float, parse: Callable[[str], N], expected: str) -> N:
    value = text(name, str(default))
    try:
        return parse(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name}={value!r}: write {expected}.") from None


def path(name: str, default: Path) -> Path:
    return Path(text(name) or default).expanduser().resolve()


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def database(url: str) -> dict[str, Any]:
    """Return a DATABASES entry from postgres://user:password@host:port/name?option=value.

    A unix socket folder goes in the query, as in libpq: postgres://user@/name?host=/run/x
    """
    parts = urlsplit(url)
    if parts.scheme not in ("postgres", "postgresql") or not parts.username:
        raise ImproperlyConfigured(
            f"{parts.scheme}://… is not valid. Use postgres://user:password@host:port/name."
        )
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")),
        "USER": unquote(parts.username),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", "") or parts.hostname or "",
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
    }


def broker(url: str) -> str:
    """Return the Redis URL for Celery.

    kombu names unix sockets differently, and uses TLS only if the URL says something about it.
    """
    if url.startswith("rediss:") and "ssl_cert_reqs=" not in url:
        return f"{url}{'&' if '?' in url else '?'}ssl_cert_reqs=required"
    return "redis+socket" + url.removeprefix("unix") if url.startswith("unix:") else url


_NOT_PSYCOPG = {"pool", "options", "server_side_binding", "prepare_threshold", "isolation_level"}


def address(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return a DATABASES entry as psycopg connection parameters."""
    named = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host"}
    options = {to: entry[name] for name, to in {**named, "PORT": "port"}.items()}
    extra = {k: v for k, v in entry.get("OPTIONS", {}).items() if k not in _NOT_PSYCOPG}
    return {k: v for k, v in {**options, **extra}.items() if v}
