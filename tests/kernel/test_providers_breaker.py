"""Circuit breakers of model providers."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from prometheus_client import REGISTRY
from pytest_django import Settings

from kmapp.management.doctor.connections import check_embedder
from kmapp.providers import breaker, job_outages
from kmapp.providers.breaker import Breaker, get_breaker
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import CircuitOpen, ProviderError, Refused
from kmapp.providers.models import EmbeddingModel as Form
from tests.fake_provider import Behaviour, FakeProvider
from tests.promises.plugin import RecordFigure

WINDOW = timedelta(seconds=300)  # during which a circuit stays open
FAIL_MAX = 5


@pytest.fixture
def embedder(provider: FakeProvider, form: Form, settings: Settings) -> OpenAIEmbedder:
    settings.BREAKER_RESET_SECONDS = WINDOW.total_seconds()
    settings.BREAKER_FAIL_MAX = FAIL_MAX
    return OpenAIEmbedder.for_queries(form)


def outcome(embedder: OpenAIEmbedder) -> str:
    try:
        embedder.embed(["when?"], kind="query")
    except ProviderError as error:
        return error.code
    return "ok"


def end_window(provider: FakeProvider) -> None:
    """Move the opening of the circuit into the past, so that the circuit admits a probe."""
    get_breaker(provider.url)._memory.opened_at = datetime.now(UTC) - WINDOW  # noqa: SLF001


@pytest.mark.promise(17)
def test_circuit_opens_after_five_failures(
    provider: FakeProvider, embedder: OpenAIEmbedder, record_figure: RecordFigure
) -> None:
    provider.become("error")
    outcomes = [outcome(embedder) for _ in range(200)]
    record_figure(f"{provider.requests} of 200 calls reached it")
    assert provider.requests == 5
    assert outcomes == ["km_provider_error"] * 5 + ["km_circuit_open"] * 195
    assert get_breaker(provider.url).state == "open"


@pytest.mark.promise(17)
def test_open_circuit_probes_once_per_window_and_closes_after_recovery(
    provider: FakeProvider, embedder: OpenAIEmbedder
) -> None:
    provider.become("error")
    for _ in range(FAIL_MAX):
        outcome(embedder)
    for probes in (1, 2):
        end_window(provider)
        with ThreadPoolExecutor(8) as threads:
            list(threads.map(lambda _: outcome(embedder), range(40)))
        assert provider.requests == FAIL_MAX + probes
    provider.become("ok")
    end_window(provider)
    assert [outcome(embedder) for _ in range(3)] == ["ok"] * 3
    assert get_breaker(provider.url).state == "closed"


@pytest.mark.promise(17)
def test_half_open_circuit_allows_one_call(
    provider: FakeProvider, embedder: OpenAIEmbedder
) -> None:
    provider.become("error")
    for _ in range(FAIL_MAX):
        outcome(embedder)
    provider.become("ok")
    end_window(provider)
    with get_breaker(provider.url).guard():
        assert [outcome(embedder) for _ in range(3)] == ["km_circuit_open"] * 3
    assert outcome(embedder) == "ok"
    assert provider.requests == FAIL_MAX + 1


def test_rejected_text_does_not_open_the_circuit(
    provider: FakeProvider, embedder: OpenAIEmbedder
) -> None:
    provider.become("refuse")
    assert {outcome(embedder) for _ in range(10)} == {"km_bad_vector"}
    assert get_breaker(provider.url).state == "closed"


def test_passages_bypass_the_circuit(provider: FakeProvider, form: Form) -> None:
    with open_circuit(get_breaker(provider.url), times=5):
        vectors = OpenAIEmbedder.for_passages(form).embed(["then"], kind="passage")
    assert len(vectors) == 1


def test_open_circuit_reports_retry_after_and_metric() -> None:
    circuit = Breaker("example:1", fail_max=1, reset_seconds=30, successes=2)
    with open_circuit(circuit, times=1), pytest.raises(CircuitOpen) as refusal, circuit.guard():
        pass
    assert 1 <= refusal.value.retry_after <= 30
    assert "example:1 failed repeatedly. It is called again in " in refusal.value.message
    assert REGISTRY.get_sample_value("kmapp_provider_circuit_open", {"endpoint": "example:1"}) == 1


def test_own_errors_do_not_open_the_circuit() -> None:
    circuit = Breaker("example:2", fail_max=1, reset_seconds=30, successes=2)
    for mistake in (KeyError("ours"), Refused("one text")):
        with pytest.raises(type(mistake)), circuit.guard():
            raise mistake
    assert circuit.state == "closed"


def test_idle_breakers_are_dropped(embedder: OpenAIEmbedder) -> None:
    idle, tripped, busy = (get_breaker(f"https://example/{name}") for name in "abc")
    with open_circuit(tripped, times=FAIL_MAX):
        idle.used_at = tripped.used_at = monotonic() - WINDOW.total_seconds() - 1
    get_breaker("https://example/d")
    assert get_breaker("https://example/a") is idle  # not for long enough
    assert get_breaker("https://example/b") is tripped
    idle.used_at = tripped.used_at = monotonic() - breaker.IDLE_SECONDS - 1
    get_breaker("https://example/e")
    assert get_breaker("https://example/a") is not idle
    assert get_breaker("https://example/b").state == "closed"
    assert get_breaker("https://example/c") is busy
    assert REGISTRY.get_sample_value("kmapp_provider_circuit_open", {"endpoint": "example"}) == 0


@contextmanager
def open_circuit(circuit: Breaker, *, times: int) -> Iterator[None]:
    for _ in range(times):
        with pytest.raises(ProviderError), circuit.guard():
            raise ProviderError("down")
    assert circuit.state == "open"
    yield


def test_health_knows_the_circuits_of_other_processes(
    embedder: OpenAIEmbedder, provider: FakeProvider, agent: Client
) -> None:
    def circuit() -> str:
        return str(agent.get("/v1/health").json()["embedder"]["circuit"])

    assert circuit() == "closed"
    provider.behaviour = Behaviour(mode="error")
    for _ in range(FAIL_MAX):
        outcome(embedder)
    other_breakers = breaker._breakers.copy()  # noqa: SLF001
    breaker._breakers.clear()  # noqa: SLF001 - the web process has called nobody
    assert circuit() == "open"
    breaker._breakers.update(other_breakers)  # noqa: SLF001
    provider.behaviour = Behaviour()
    end_window(provider)
    while get_breaker(provider.url).state != "closed":
        assert outcome(embedder) == "ok"
    breaker._breakers.clear()  # noqa: SLF001
    assert circuit() == "closed"


def test_health_and_doctor_know_that_only_passages_fail(
    provider: FakeProvider,
    form: Form,
    settings: Settings,
    agent: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read_part() -> dict[str, Any]:
        part: dict[str, Any] = agent.get("/v1/health").json()["embedder"]
        return part

    cache.clear()
    settings.EMBEDDING_BASE_URL = f"http://127.0.0.1:{settings.EMBEDDER_QUERY_PORT}/v1"
    passages = OpenAIEmbedder.for_passages(form)
    provider.become("error")
    starts = []
    for grace in (600, 0, 0):
        monkeypatch.setattr(job_outages, "GRACE_SECONDS", grace)
        with pytest.raises(ProviderError):
            passages.embed(["tea"], kind="passage")
        passages.embed([], kind="passage")  # calls nobody
        part = read_part()
        assert (part["ok"], part["circuit"]) == (grace > 0, "closed")
        starts.append(part.get("passages_fail_since"))
        assert ("EMBEDDING_BATCH_BASE_URL" in part.get("message", "")) == (not grace)
    assert starts[0] is None
    assert starts[1] == starts[2] is not None
    [finding] = check_embedder()
    assert finding.level == "ERROR"
    assert finding.message.startswith("no vector for a passage")
    provider.become("ok")
    passages.embed(["tea"], kind="passage")
    assert read_part() == {"ok": True, "circuit": "closed"}


def test_circuit_that_admits_a_trial_call_is_not_reported_as_open(
    embedder: OpenAIEmbedder, provider: FakeProvider
) -> None:
    """Otherwise health would stay degraded until somebody searches."""
    provider.become("error")
    for _ in range(FAIL_MAX):
        outcome(embedder)
    cache.clear()  # entries expire after two windows
    assert breaker.get_state(provider.url) == "open"
    end_window(provider)
    assert breaker.get_state(provider.url) == "half-open"
