"""Calls of a provider end at their deadline, whatever it sends."""

import asyncio
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest
from pytest_django import Settings

from kmapp.providers.client import parse_retry_after, run_with_deadline
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import ProviderError, ProviderTimeout
from kmapp.providers.models import EmbeddingModel as Form
from kmapp.runtime.processes import wait_until
from tests.chaos.measure import limit
from tests.fake_provider import FakeProvider
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.promise(18)


@pytest.fixture(autouse=True)
def deadline(settings: Settings) -> None:
    """Restore the deadline of the product, which the settings of the tests extend."""
    settings.EMBEDDING_DEADLINE = 1.5


@pytest.mark.parametrize(
    ("mode", "value", "code"),
    [
        ("drip", "", "km_timeout"),
        ("hang", "", "km_timeout"),
        ("rate_limited", "3600", "km_provider_error"),
        ("rate_limited", "NaN", "km_provider_error"),
        ("rate_limited", "-1", "km_provider_error"),
        ("error", "3600", "km_provider_error"),
    ],
)
def test_query_ends_at_its_deadline(
    provider: FakeProvider,
    form: Form,
    mode: str,
    value: str,
    code: str,
    record_figure: RecordFigure,
) -> None:
    provider.become(mode, retry_after=value, delay=0.1)  # a drip takes minutes
    started = monotonic()
    with pytest.raises(ProviderError) as refusal:
        OpenAIEmbedder.for_queries(form).embed(["when?"], kind="query")
    seconds = monotonic() - started
    record_figure(f"{mode} {value}".strip() + f": {seconds:.1f} s")
    assert seconds <= limit(2.5)
    assert refusal.value.code == code
    assert provider.requests == 1


def test_fast_chunked_response_is_accepted(provider: FakeProvider, form: Form) -> None:
    provider.become("drip", delay=0.0)
    assert len(OpenAIEmbedder.for_queries(form).embed(["when?"], kind="query")) == 1


def test_threads_do_not_queue_behind_a_hanging_call(
    provider: FakeProvider, form: Form, settings: Settings
) -> None:
    settings.EMBEDDING_DEADLINE = 60
    provider.become("hang")
    embedder = OpenAIEmbedder.for_queries(form)
    with ThreadPoolExecutor(8) as threads:
        calls = [threads.submit(embedder.embed, ["when?"], kind="query") for _ in range(8)]
        assert wait_until(lambda: provider.requests == 8, 60)
        provider.closing.set()
        assert all(isinstance(call.exception(), ProviderError) for call in calls)


def test_timeout_closes_the_connection(
    provider: FakeProvider, form: Form, settings: Settings
) -> None:
    settings.EMBEDDING_DEADLINE = 0.3
    provider.become("drip", delay=0.05)
    with pytest.raises(ProviderTimeout):
        OpenAIEmbedder.for_queries(form).embed(["when?"], kind="query")
    assert wait_until(lambda: provider.given_up == 1, 60)


def test_blocked_event_loop_does_not_block_the_caller() -> None:
    release = threading.Event()

    async def block() -> None:
        assert release.wait(60), "the caller waited for the event loop"

    try:
        with pytest.raises(TimeoutError):
            run_with_deadline(block(), 0.1)
    finally:
        release.set()  # other tests use the same event loop


def test_forked_child_has_its_own_event_loop() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    def child() -> None:
        assert run_with_deadline(answer(), 5) == 7

    assert run_with_deadline(answer(), 5) == 7
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("7", 7.0),
        ("0.5", 0.5),
        ("3600", 300.0),
        ("NaN", None),
        ("-1", None),
        ("inf", None),
        ("soon", None),
        ("", None),
        ("Wed, 21 Oct 2015 07:28:00 GMT", None),
        ("Wed, 21 Oct 2999 07:28:00 GMT", 300.0),
        ("Wed, 21 Oct 2015 07:28:00 -0000", None),
    ],
)
def test_retry_after_is_parsed_and_capped(header: str, seconds: float | None) -> None:
    assert parse_retry_after({"retry-after": header}) == seconds
