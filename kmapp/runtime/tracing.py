"""OpenTelemetry traces of requests, jobs and calls to providers. Off without an endpoint.

OTEL_EXPORTER_OTLP_ENDPOINT turns them on; the other variables of OpenTelemetry's SDK apply. Spans
have names and attributes from fixed sets: no text, no id of a user, and no message of an exception.
"""

import os
from collections.abc import Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
PACKAGES = ("opentelemetry.sdk.trace", "opentelemetry.exporter.otlp.proto.http")
HEADER = "traceparent"
# Only the W3C header: baggage of clients would be forwarded to model providers.
_propagator = TraceContextTextMapPropagator()
_provider: "TracerProvider | None" = None


class CannotTrace(Exception):
    """Traces are requested, and their packages are not installed."""


def is_requested() -> bool:
    return any(os.environ.get(name) for name in ENDPOINTS)


def find_problem() -> str:
    """Return why requested traces are not possible, or an empty string."""
    if not is_requested() or all(_is_installed(name) for name in PACKAGES):
        return ""
    return (
        f"{ENDPOINTS[0]} is set, but OpenTelemetry's packages are not installed: run pip install "
        "--require-hashes -r requirements-otel.txt (from a wheel: pip install 'kmapp[otel]'), or "
        "unset it."
    )


def _is_installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of a parent
        return False


def start(process: str) -> None:
    """Export the spans of this process, if requested. Call it after a fork: it starts a thread."""
    global _provider  # noqa: PLW0603 - one for the process
    if problem := find_problem():
        raise CannotTrace(problem)
    if _provider or not is_requested():
        return
    # Optional packages.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    name = os.environ.get("OTEL_SERVICE_NAME") or f"kmapp-{process}"
    _provider = TracerProvider(resource=Resource.create({"service.name": name}))
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))


def stop() -> None:
    """Export the remaining spans, and stop."""
    global _provider  # noqa: PLW0603 - one for the process
    if _provider:
        _provider.shutdown()
        _provider = None


@contextmanager
def span(
    name: str,
    kind: SpanKind,
    *,
    parents: Sequence[str] = (),
    attributes: MutableMapping[str, str | int] | None = None,
) -> Iterator[Span | None]:
    """Record the block as a span; yield None if traces are off.

    `parents` are traceparent headers: the first is the parent, and the others are linked. By
    default, the span around the block is the parent.
    """
    if _provider is None:
        yield None
        return
    contexts = [_propagator.extract({HEADER: parent}) for parent in parents if parent]
    links = [Link(trace.get_current_span(each).get_span_context()) for each in contexts[1:]]
    with _provider.get_tracer("kmapp").start_as_current_span(
        name,
        context=contexts[0] if contexts else None,
        kind=kind,
        links=links,
        attributes=attributes,
        record_exception=False,  # its message may contain user content
        set_status_on_exception=False,
    ) as current:
        try:
            yield current
        except BaseException as error:
            current.set_status(Status(StatusCode.ERROR, type(error).__name__))
            raise


def traceparent() -> str:
    """Return the header that continues the current trace elsewhere, or an empty string."""
    carrier: dict[str, str] = {}
    if _provider is not None:
        _propagator.inject(carrier)
    return carrier.get(HEADER, "")
