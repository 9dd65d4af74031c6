"""Requests to an embedder, and checks of its responses."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from pytest_django import Settings

from kmapp.providers.embedding import (
    MAX_TEXTS,
    MAX_TOKENS,
    Kind,
    OpenAIEmbedder,
    estimate_tokens,
    split_batches,
)
from kmapp.providers.errors import BadVectors, ProviderError
from kmapp.providers.models import EmbeddingModel as Form
from kmapp.runtime.embedded.embedding_server import EmbeddingServer
from kmapp.runtime.embedded.temporary_servers import free_port
from tests.fake_provider import FakeProvider, vector_of


def similarity(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


# --- Requests ------------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=200) | st.sampled_from(["字" * 5_000, "word " * 9_000])))
def test_batches_keep_the_order_and_both_limits(texts: list[str]) -> None:
    made = list(split_batches(texts))
    assert [text for batch in made for text in batch] == texts
    for batch in made:
        assert 1 <= len(batch) <= MAX_TEXTS
        assert len(batch) == 1 or sum(map(estimate_tokens, batch)) <= MAX_TOKENS


def test_passages_are_sent_in_batches_of_16(provider: FakeProvider, form: Form) -> None:
    texts = [f"passage {number}" for number in range(38)]
    vectors = OpenAIEmbedder.for_passages(form).embed(texts, kind="passage")
    assert sorted(len(body["input"]) for body in provider.seen) == [6, 16, 16]
    for text, vector in zip(texts, vectors, strict=True):
        assert vector == pytest.approx(vector_of(text, 384), abs=1e-6)

    OpenAIEmbedder.for_queries(form).embed(texts, kind="query")
    assert provider.requests == 4  # queries are one call, because they have a deadline


def test_no_texts_send_no_request(provider: FakeProvider, form: Form) -> None:
    assert OpenAIEmbedder.for_queries(form).embed([], kind="query") == []
    assert OpenAIEmbedder.for_passages(form).embed([], kind="passage") == []
    assert provider.requests == 0


@pytest.mark.parametrize("kind", ["query", "passage"])
@pytest.mark.parametrize("as_field", [True, False])
def test_input_kind_is_sent_once(provider: FakeProvider, kind: Kind, *, as_field: bool) -> None:
    prefixes = {"query_prefix": "query: ", "passage_prefix": "passage: "}
    form = Form(name="fake", dimensions=384, sends_input_type=as_field, **prefixes)
    OpenAIEmbedder.for_passages(form).embed(["a cat"], kind=kind)
    [body] = provider.seen
    assert body["input"] == (["a cat"] if as_field else [f"{kind}: a cat"])
    assert body.get("input_type") == (kind if as_field else None)
    assert body["model"] == "fake"


def test_local_server_is_called_without_proxy_or_keep_alive(
    provider: FakeProvider, form: Form, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    OpenAIEmbedder.for_queries(form).embed(["when?"], kind="query")
    [body] = provider.seen
    assert body["headers"]["Connection"] == "close"


# --- Responses -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("wrong_dimensions", "383 dimensions instead of 384"),
        ("nan", "NaN"),
        ("inf", "NaN or infinity"),
        ("zero", "is zero"),
        ("too_few", "received 11"),
        ("reordered", "out of order"),
    ],
)
def test_invalid_vectors_are_rejected_with_a_reason(
    provider: FakeProvider, form: Form, mode: str, reason: str
) -> None:
    provider.become(mode)
    with pytest.raises(BadVectors) as refusal:
        OpenAIEmbedder.for_passages(form).embed([f"text {n}" for n in range(12)], kind="passage")
    assert refusal.value.code == "km_bad_vector"
    assert sorted(refusal.value.reasons) == list(range(12))
    assert all(reason in why for why in refusal.value.reasons.values())
    assert refusal.value.vectors == [None] * 12


@pytest.mark.parametrize("mode", ["nan", "refuse", "flagged"])
def test_one_bad_text_does_not_fail_its_batch(
    provider: FakeProvider, form: Form, mode: str
) -> None:
    provider.become(mode, only="poison")
    texts = [f"text {n}" for n in range(40)]
    texts[35] = "poison"
    with pytest.raises(BadVectors) as refusal:
        OpenAIEmbedder.for_passages(form).embed(texts, kind="passage")
    assert list(refusal.value.reasons) == [35]
    vector_indexes = [n for n, vector in enumerate(refusal.value.vectors) if vector is not None]
    assert vector_indexes == [n for n in range(40) if n != 35]
    assert refusal.value.vectors[36] == pytest.approx(vector_of("text 36", 384), abs=1e-6)


@pytest.mark.parametrize("mode", ["garbage", "error", "rate_limited", "forbidden"])
def test_provider_failure_is_not_attributed_to_texts(
    provider: FakeProvider, form: Form, mode: str
) -> None:
    provider.become(mode, retry_after="17")
    with pytest.raises(ProviderError) as refusal:
        OpenAIEmbedder.for_passages(form).embed(["a", "b"], kind="passage")
    assert not isinstance(refusal.value, BadVectors)
    assert refusal.value.retry_after == (17 if mode != "garbage" else 5)
    assert provider.requests <= 3  # at most two probes, not one for each text


def test_unreachable_embedder_raises_provider_error(form: Form, settings: Settings) -> None:
    settings.EMBEDDING_BATCH_BASE_URL = "http://127.0.0.1:1/v1"
    with pytest.raises(ProviderError, match="Cannot connect"):
        OpenAIEmbedder.for_passages(form).embed(["a"], kind="passage")


def test_calls_are_counted_by_outcome(provider: FakeProvider, form: Form) -> None:
    def counted(outcome: str) -> float:
        labels = {"provider": "embedding", "kind": "passage", "outcome": outcome}
        return REGISTRY.get_sample_value("kmapp_provider_calls_total", labels) or 0

    before = {outcome: counted(outcome) for outcome in ("ok", "km_provider_error", "km_bad_vector")}
    embedder = OpenAIEmbedder.for_passages(form)
    embedder.embed(["a"], kind="passage")
    for mode in ("error", "nan"):
        provider.become(mode)
        with pytest.raises(ProviderError):
            embedder.embed(["a"], kind="passage")
    assert {outcome: counted(outcome) - count for outcome, count in before.items()} == {
        "ok": 1,
        "km_provider_error": 1,
        "km_bad_vector": 1,
    }


# --- The embedded server --------------------------------------------------------------------------

E5 = Form(name="multilingual-e5-small", dimensions=384, sends_input_type=True)


@pytest.fixture(scope="module")
def running_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddingServer]:
    """Run the product's server, because that of other tests caches the vectors of equal texts."""
    log = tmp_path_factory.mktemp("embedder") / "log"
    with EmbeddingServer(free_port(), log) as server:
        yield server


@pytest.fixture
def embedded_server(running_server: EmbeddingServer, settings: Settings) -> None:
    settings.EMBEDDING_BASE_URL = settings.EMBEDDING_BATCH_BASE_URL = running_server.url()


@pytest.mark.usefixtures("embedded_server")
def test_the_embedded_server_understands_both_languages() -> None:
    passages = ["The cat sleeps on the warm roof.", "季度报告将于周五提交。", "She bakes bread."]
    vectors = OpenAIEmbedder.for_passages(E5).embed(passages, kind="passage")
    for question, meant in [("猫在哪里睡觉?", 0), ("When is the quarterly report due?", 1)]:
        [vector] = OpenAIEmbedder.for_queries(E5).embed([question], kind="query")
        scores = [similarity(vector, each) for each in vectors]
        assert scores.index(max(scores)) == meant


@pytest.mark.usefixtures("embedded_server")
def test_the_embedded_server_adds_its_own_prefix_and_only_once() -> None:
    embedder = OpenAIEmbedder.for_passages(E5)
    [passage] = embedder.embed(["a cat"], kind="passage")
    [query] = embedder.embed(["a cat"], kind="query")
    [doubled] = embedder.embed(["passage: a cat"], kind="passage")
    prefixed = Form(name=E5.name, dimensions=384, passage_prefix="passage: ", sends_input_type=True)
    [again] = OpenAIEmbedder.for_passages(prefixed).embed(["a cat"], kind="passage")
    assert similarity(passage, query) < 0.99
    assert similarity(passage, doubled) < 0.995
    assert similarity(passage, again) == pytest.approx(1, abs=1e-6)


@pytest.mark.usefixtures("embedded_server")
def test_embedded_server_returns_equal_vectors_in_batches() -> None:
    embedder = OpenAIEmbedder.for_passages(E5)
    texts = [f"Entry number {n} about topic {n % 5}." for n in range(40)]
    together = embedder.embed(texts, kind="passage")
    for n in (0, 31, 32, 39):
        [alone] = embedder.embed([texts[n]], kind="passage")
        assert similarity(alone, together[n]) == pytest.approx(1, abs=1e-5)


def test_text_that_causes_500_does_not_fail_others(provider: FakeProvider, form: Form) -> None:
    provider.become("error", only="odd")
    with pytest.raises(BadVectors) as refusal:
        OpenAIEmbedder.for_passages(form).embed(["tea", "odd", "rice"], kind="passage")
    assert list(refusal.value.reasons) == [1]
    assert [vector is None for vector in refusal.value.vectors] == [False, True, False]
