"""The cache of query vectors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID, uuid4

import pytest
from django.core.cache import cache
from prometheus_client import REGISTRY
from pytest_django import Settings

from kmapp.providers.embedding import Kind
from kmapp.providers.errors import ProviderTimeout
from kmapp.providers.models import EmbeddingModel as Form
from kmapp.providers.query_cache import QueryEmbedding, get_query_vector
from kmapp.providers.vector_validation import pack_vector
from tests.fake_provider import vector_of


@dataclass
class Counting:
    """An embedder that records the texts."""

    asked: list[str] = field(default_factory=list)
    down: bool = False

    def embed(self, texts: Sequence[str], *, kind: Kind) -> list[list[float]]:
        assert kind == "query"
        if self.down:
            raise ProviderTimeout("No answer.")
        self.asked += texts
        return [vector_of(text, 384) for text in texts]


@pytest.fixture
def embedder() -> Counting:
    return Counting()


@pytest.fixture
def account() -> UUID:
    return uuid4()


def test_repeated_query_is_a_cache_hit(account: UUID, embedder: Counting, form: Form) -> None:
    first = get_query_vector(account, "猫在哪里?", model=form, embedder=embedder)
    embedder.down = True
    second = get_query_vector(account, "猫在哪里?", model=form, embedder=embedder)
    assert (first.cached, second.cached) == (False, True)
    assert second.vector == pytest.approx(first.vector, abs=1e-7)
    assert embedder.asked == ["猫在哪里?"]


def test_cache_key_includes_account_text_and_model(
    account: UUID, embedder: Counting, form: Form
) -> None:
    get_query_vector(account, "when?", model=form, embedder=embedder)
    others: list[tuple[UUID, str, Form]] = [
        (uuid4(), "when?", form),
        (account, "when", form),
        (account, "when?", Form(name="other", dimensions=384)),
        (account, "when?", Form(name="fake", dimensions=384, query_prefix="query: ")),
    ]
    for other, text, model in others:
        assert not get_query_vector(other, text, model=model, embedder=embedder).cached
    assert len(embedder.asked) == 5


def test_cached_vector_expires(
    account: UUID, embedder: Counting, form: Form, settings: Settings
) -> None:
    settings.QUERY_CACHE_SECONDS = 0  # Django caches nothing
    get_query_vector(account, "when?", model=form, embedder=embedder)
    assert not get_query_vector(account, "when?", model=form, embedder=embedder).cached


@pytest.mark.parametrize(
    "planted",
    [
        "",
        "abc",
        "no base64!",
        pack_vector([1.0] * 383),
        pack_vector([0.0] * 384),
        [1, "x"],
        {"a": 1},
        7,
    ],
)
def test_invalid_cached_vector_is_a_miss(
    account: UUID, embedder: Counting, form: Form, monkeypatch: pytest.MonkeyPatch, planted: object
) -> None:
    monkeypatch.setattr(cache, "get", lambda key: planted)
    assert not get_query_vector(account, "when?", model=form, embedder=embedder).cached
    assert embedder.asked == ["when?"]


@pytest.mark.parametrize("broken", ["get", "set"])
def test_a_broken_cache_never_breaks_a_query(
    account: UUID, embedder: Counting, form: Form, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise ConnectionError("no cache")

    monkeypatch.setattr(cache, broken, refuse)
    results = get_query_vector(account, "when?", model=form, embedder=embedder)
    assert results == QueryEmbedding(vector_of("when?", 384), cached=False)


def test_unreachable_cache_is_tried_once(
    account: UUID, embedder: Counting, form: Form, settings: Settings
) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": "redis://127.0.0.1:1",
        }
    }
    before = REGISTRY.get_sample_value("kmapp_query_cache_total", {"outcome": "down"}) or 0
    assert not get_query_vector(account, "when?", model=form, embedder=embedder).cached
    after = REGISTRY.get_sample_value("kmapp_query_cache_total", {"outcome": "down"})
    assert after == before + 1


def test_failed_embedding_is_not_cached(account: UUID, embedder: Counting, form: Form) -> None:
    embedder.down = True
    with pytest.raises(ProviderTimeout):
        get_query_vector(account, "when?", model=form, embedder=embedder)
    embedder.down = False
    assert not get_query_vector(account, "when?", model=form, embedder=embedder).cached
