"""Concurrent calls of a job to its embedder: order, errors, context and interruption."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import pytest
from celery.exceptions import SoftTimeLimitExceeded

from kmapp.providers import concurrent_calls
from kmapp.providers.concurrent_calls import map_concurrently
from kmapp.providers.embedding import MAX_TEXTS, OpenAIEmbedder
from kmapp.providers.errors import Faulted, ProviderError
from kmapp.providers.models import EmbeddingModel as Form
from kmapp.runtime.processes import wait_until
from tests.fake_provider import FakeProvider, vector_of

job_name: ContextVar[str] = ContextVar("job_name")


def build_texts(word: str, batches: int) -> list[str]:
    return [f"{word} {number}." for number in range(batches * MAX_TEXTS)]


def test_vectors_are_in_the_order_of_the_texts(provider: FakeProvider, form: Form) -> None:
    texts = build_texts("text", 3)
    provider.become("slow", only=texts[0], delay=0.5)  # the first call ends last
    vectors = OpenAIEmbedder.for_passages(form).embed(texts, kind="passage")
    assert provider.requests == 3
    for text, vector in zip(texts, vectors, strict=True):
        assert vector == pytest.approx(vector_of(text, 384), abs=1e-6)


def test_error_of_the_second_call_is_raised(provider: FakeProvider, form: Form) -> None:
    texts = build_texts("even", 1) + build_texts("odd", 1)
    provider.become("error", only="odd")
    with pytest.raises(Faulted):
        OpenAIEmbedder.for_passages(form).embed(texts, kind="passage")
    assert provider.requests == 4  # the first call; the second, and two of its texts alone


def test_two_calls_run_at_a_time_and_none_begins_after_an_error(
    provider: FakeProvider, form: Form
) -> None:
    provider.become("hang")
    embedder = OpenAIEmbedder.for_passages(form)
    with ThreadPoolExecutor(1) as threads:
        job = threads.submit(embedder.embed, build_texts("text", 5), kind="passage")
        assert wait_until(lambda: provider.requests == 2, 60)
        provider.closing.set()
        assert isinstance(job.exception(), ProviderError)
    assert provider.requests == 2


def test_calls_see_the_context_of_their_caller() -> None:
    token = job_name.set("embed")
    try:
        results = map_concurrently(lambda number: (job_name.get(), number), range(5), limit=2)
    finally:
        job_name.reset(token)
    assert results == [("embed", number) for number in range(5)]


def test_single_call_needs_no_thread() -> None:
    results = map_concurrently(lambda _number: threading.current_thread(), [1], limit=2)
    assert results == [threading.current_thread()]


def test_interrupted_job_does_not_wait_for_its_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    ended: list[int] = []

    def call(number: int) -> None:
        release.wait(60)
        ended.append(number)

    def interrupt(*_calls: object, **_options: object) -> None:
        raise SoftTimeLimitExceeded

    monkeypatch.setattr(concurrent_calls, "wait", interrupt)
    try:
        with pytest.raises(SoftTimeLimitExceeded):
            map_concurrently(call, range(5), limit=2)
        assert ended == []
    finally:
        release.set()
    assert wait_until(lambda: sorted(ended) == [0, 1], 60)  # no further call has begun
