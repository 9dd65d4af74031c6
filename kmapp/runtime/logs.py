"""Logging: one JSON object per line, with the request id and without user content.

Messages of exceptions may quote what a person wrote, so the JSON form names an error by type,
SQLSTATE and place.
The console form (`LOG_JSON=False`) is for developers and prints everything.
"""

import logging
import logging.config
import traceback
from collections.abc import Mapping, MutableMapping
from types import TracebackType
from typing import Any

import structlog

Event = MutableMapping[str, Any]
FRAMES = 30

# What every record gets, ours and other people's.
_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.ExtraAdder(allow=()),
    structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
]


def configure(options: Mapping[str, Any]) -> None:
    """Send every log line of this process to stderr. Django calls it as LOGGING_CONFIG."""
    last: list[Any] = [quiet_error, structlog.processors.JSONRenderer(ensure_ascii=False)]
    if not options["json"]:
        last = [structlog.dev.ConsoleRenderer(colors=False)]
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {
                "line": {
                    "()": structlog.stdlib.ProcessorFormatter,
                    "foreign_pre_chain": _SHARED,
                    "processors": [
                        structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                        *last,
                    ],
                }
            },
            "filters": {"route": {"()": "kmapp.runtime.logs.RouteNotPath"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": options["level"]},
            "loggers": {
                # Our own access line says the same of refusals, with the route instead of the path.
                "django.request": {"level": "ERROR", "filters": ["route"]},
                "django.security": {"level": "ERROR"},
                # Statements hold people's words.
                "django.db.backends": {"level": "INFO"},
                # A line for each message says nothing that the outbox does not know.
                "celery.worker.strategy": {"level": "WARNING"},
                "celery.app.trace": {"level": "WARNING"},
                "openai": {"level": "WARNING"},
                "httpx2": {"level": "WARNING"},
                "httpcore2": {"level": "WARNING"},
            },
        }
    )
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *_SHARED,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )


def quiet_error(logger: object, method: str, event: Event) -> Event:
    """Name errors by types and places: their messages may quote what was written."""
    info = event.pop("exc_info", None)
    if not info:
        return event
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["errors"] = [_named(each) for each in _chain(error)]
    return event


def _chain(error: BaseException) -> list[BaseException]:
    """Return the error and its causes, outermost first."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return chain


def _named(error: BaseException) -> dict[str, Any]:
    named: dict[str, Any] = {"type": f"{type(error).__module__}.{type(error).__qualname__}"}
    if sqlstate := getattr(error, "sqlstate", None):
        named["sqlstate"] = sqlstate
    return {**named, "at": _frames(error.__traceback__)}


def _frames(place: TracebackType | None) -> list[str]:
    frames = traceback.extract_tb(place)[-FRAMES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


class RouteNotPath(logging.Filter):
    """Django names a failed request by its path, which may hold a person's id; not us."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if request is not None:
            match = getattr(request, "resolver_match", None)
            reason = (
                record.args[0] if isinstance(record.args, tuple) and record.args else record.msg
            )
            record.msg, record.args = "%s: %s", (reason, match.route if match else "unmatched")
        return True
