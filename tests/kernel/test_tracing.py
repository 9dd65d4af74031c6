"""Traces: from the request through its jobs to the provider, without content; off by default."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from django.conf import settings as project
from django.core.management import CommandError, call_command
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, Span, Status
from opentelemetry.trace import SpanKind
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.management.doctor.configuration import check_traces
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.models import OutboxEvent
from kmapp.runtime import embedded, tracing
from kmapp.runtime.processes import wait_until
from tests import makers
from tests.chaos.product import PATIENCE, Product
from tests.fake_provider import FakeProvider
from tests.webhook_receiver import Receiver, receive_webhooks

TRACE, PARENT = "a1" * 16, "b2" * 8
HEADER = f"00-{TRACE}-{PARENT}-01"
TEXT, USER = "The vault code is marmalade.", "user-marmalade"


def read_spans(receiver: Receiver) -> dict[str, Span]:
    """Return the first exported span of each name."""
    resources = read_resources(receiver)
    assert {
        attribute.value.string_value
        for each in resources
        for attribute in each.resource.attributes
        if attribute.key == "service.name"
    } == {"kmapp-web"}
    spans: dict[str, Span] = {}
    for span in list_spans(receiver):
        spans.setdefault(span.name, span)
    return spans


def read_resources(receiver: Receiver) -> list[ResourceSpans]:
    requests = [ExportTraceServiceRequest.FromString(body) for _, body in receiver.requests]
    return [each for request in requests for each in request.resource_spans]


def list_spans(receiver: Receiver) -> list[Span]:
    return [span for spans in list_spans_by_service(receiver).values() for span in spans]


def list_spans_by_service(receiver: Receiver) -> dict[str, list[Span]]:
    by_service: dict[str, list[Span]] = {}
    for each in read_resources(receiver):
        [service] = [one.value for one in each.resource.attributes if one.key == "service.name"]
        spans = [span for scope in each.scope_spans for span in scope.spans]
        by_service.setdefault(service.string_value, []).extend(spans)
    return by_service


def statuses(receiver: Receiver, kind: int) -> set[int]:
    return {span.status.code for span in list_spans(receiver) if span.kind == kind}


def test_one_trace_from_the_request_to_the_provider(
    acme: Account, agent: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    with receive_webhooks() as receiver:
        receiver.status = 200
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{receiver.netloc}")
        tracing.start("web")
        try:
            body = {"text": TEXT, "user_id": USER}
            store = "/v1/memory/store"
            json = "application/json"
            written = agent.post(store, body, content_type=json, headers={"traceparent": HEADER})
            assert written.status_code == 201
            makers.settle()
            sent = provider.seen[-1]["headers"]["traceparent"]
            provider.become(mode="error")
            query = {"query": TEXT, "user_id": USER}
            assert agent.post("/v1/memory/search", query, content_type=json).status_code == 200
            agent.post(store, {"text": f"{TEXT} Again.", "user_id": USER}, content_type=json)
            deliver_due("embedding", seconds=1)
            with tracing.span("batch", SpanKind.CONSUMER, parents=[HEADER, "", sent]):
                pass
        finally:
            tracing.stop()
    spans = read_spans(receiver)
    request = spans["POST v1/memory/store"]
    assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, PARENT)
    attributes = {each.key: each.value for each in request.attributes}
    assert attributes["http.response.status_code"].int_value == 201
    call = spans["embedding passage"]
    assert sent == f"00-{TRACE}-{call.span_id.hex()}-01"
    [job] = [span for span in spans.values() if span.span_id == call.parent_span_id]
    assert (job.kind, job.parent_span_id) == (Span.SPAN_KIND_CONSUMER, request.span_id)
    assert {job.trace_id, call.trace_id} == {request.trace_id}
    assert Status.STATUS_CODE_ERROR in statuses(receiver, Span.SPAN_KIND_CONSUMER)
    failed = spans["embedding query"]
    assert failed.status.code == failed.status.STATUS_CODE_ERROR
    assert failed.trace_id == spans["POST v1/memory/search"].trace_id != request.trace_id
    batch = spans["batch"]
    assert [link.span_id for link in batch.links] == [call.span_id]
    exported = b"".join(body for _, body in receiver.requests)
    assert b"marmalade" not in exported


def test_one_trace_of_the_web_and_a_worker_process(
    committed: str, agent: Client, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = embedded.database_url(project.DATA_DIR, "app")
    database = database.replace(f"/{embedded.DATABASE}?", f"/{committed}?")
    folder = TemporaryDirectory(prefix="kmapp-traces-", ignore_cleanup_errors=True)
    with receive_webhooks() as receiver, folder as home:
        receiver.status = 200
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://{receiver.netloc}")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")  # milliseconds
        product = Product(Path(home), database, provider_port=provider.server_port)

        def list_of_trace(service: str) -> list[Span]:
            spans = list_spans_by_service(receiver).get(service, [])
            return [span for span in spans if span.trace_id.hex() == TRACE]

        tracing.start("web")
        try:
            body, headers = {"text": TEXT, "user_id": USER}, {"traceparent": HEADER}
            path, json = "/v1/memory/store", "application/json"
            written = agent.post(path, body, content_type=json, headers=headers)
            assert written.status_code == 201
            tracing.stop()
            [request] = [
                span.span_id
                for span in list_of_trace("kmapp-web")
                if span.kind == Span.SPAN_KIND_SERVER
            ]
            product.ensure_running("valkey", "worker")
            product.wake_worker("embedding")
            assert wait_until(
                lambda: find_call(list_of_trace("kmapp-worker"), request) is not None, PATIENCE
            )
        finally:
            tracing.stop()
            product.kill(*product.running)
    call = find_call(list_of_trace("kmapp-worker"), request)
    assert call
    assert provider.seen[-1]["headers"]["traceparent"] == f"00-{TRACE}-{call.span_id.hex()}-01"


def find_call(spans: list[Span], request: bytes) -> Span | None:
    """Return the call of the provider by a job of the request, once both are exported."""
    jobs = {span.span_id for span in spans if span.parent_span_id == request}
    calls = [span for span in spans if span.name == "embedding passage"]
    return next((call for call in calls if call.parent_span_id in jobs), None)


def test_traces_are_off_by_default(acme: Account, agent: Client) -> None:
    tracing.start("web")
    headers = {"traceparent": HEADER}
    body = {"text": TEXT, "user_id": USER}
    agent.post("/v1/memory/store", body, content_type="application/json", headers=headers)
    with acting(acme):
        events = OutboxEvent.objects.of(acme)
        assert set(events.values_list("traceparent", flat=True)) == {""}


def test_missing_packages_are_explained(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(tracing, "PACKAGES", ("opentelemetry.not_there.http",))
    [finding] = check_traces()
    assert (finding.level, finding.message) == ("OK", "off")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.test:4318")
    [finding] = check_traces()
    assert finding.level == "ERROR"
    assert "requirements-otel.txt" in finding.remedy
    with pytest.raises(tracing.CannotTrace, match="not installed"):
        tracing.start("web")
    with pytest.raises(CommandError, match="not installed"):
        call_command("up")
