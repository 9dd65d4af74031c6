"""Logging: one JSON object per line, with the request id and without user content.

Messages of exceptions may quote user content, so the JSON form has only their type, SQLSTATE and
traceback. The console form (`LOG_JSON=False`) is for developers and prints everything.
"""

import logging
import logging.config
import sys
import traceback
from collections.abc import Mapping, MutableMapping
from typing import Any

import structlog

Event = MutableMapping[str, Any]
FRAMES = 30

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
                # Refusals are in our access log, with the route instead of the path.
                "django.request": {"level": "ERROR", "filters": ["route"]},
                "django.security": {"level": "ERROR"},
                # Statements contain user content.
                "django.db.backends": {"level": "INFO"},
                # Celery logs a line for each message; the outbox stores the same information.
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
    """Replace an exception by the types and tracebacks of its chain."""
    info = event.pop("exc_info", None)
    if not info:
        return event
    if info is True:  # as structlog's `exception` passes it, in the block that handles the error
        info = sys.exc_info()
    error = info[1] if isinstance(info, tuple) else info
    if isinstance(error, BaseException):
        event["errors"] = [_describe(each) for each in _walk_causes(error)]
    return event


def _walk_causes(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return chain


def _describe(error: BaseException) -> dict[str, Any]:
    fields: dict[str, Any] = {"type": f"{type(error).__module__}.{type(error).__qualname__}"}
    if sqlstate := getattr(error, "sqlstate", None):
        fields["sqlstate"] = sqlstate
    frames = traceback.extract_tb(error.__traceback__)[-FRAMES:]
    return {**fields, "at": [f"{each.filename}:{each.lineno} {each.name}" for each in frames]}


class RouteNotPath(logging.Filter):
    """Replace the path of a failed request by its route, because a path may contain an id."""

    def filter(self, record: logging.LogRecord) -> bool:
        request = getattr(record, "request", None)
        if request is not None:
            match = getattr(request, "resolver_match", None)
            args = record.args if isinstance(record.args, tuple) else ()
            reason = args[0] if args else record.msg
            record.msg, record.args = "%s: %s", (reason, match.route if match else "unmatched")
        return True
