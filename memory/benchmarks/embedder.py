"""The embedder of benchmarks without a database: embedded or configured."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from django.conf import settings

from kmapp.providers.embedding import Kind, OpenAIEmbedder
from kmapp.providers.models import EmbeddingModel
from kmapp.runtime.embedded import temporary_servers
from kmapp.runtime.embedded.embedding_server import EmbeddingServer


@contextmanager
def serve_embedder() -> Iterator[Callable[[Sequence[str], str], Sequence[Sequence[float]]]]:
    """Return a function that embeds texts of a kind, passage or query."""
    model = EmbeddingModel(
        name=settings.EMBEDDING_MODEL,
        dimensions=settings.EMBEDDING_DIMENSIONS,
        sends_input_type=settings.EMBEDDING_IS_EMBEDDED,
    )
    with ExitStack() as stack:
        base = settings.EMBEDDING_BATCH_BASE_URL
        if settings.EMBEDDING_IS_EMBEDDED:
            log = Path(stack.enter_context(TemporaryDirectory())) / "embedder.log"
            part = EmbeddingServer(temporary_servers.free_port(), log, low_priority=True)
            stack.enter_context(part)
            base = part.url()
        client = OpenAIEmbedder(
            model=model,
            base_url=base,
            api_key=settings.EMBEDDING_API_KEY,
            seconds=settings.EMBEDDING_BATCH_DEADLINE,
            in_batches=True,
        )
        yield lambda texts, kind: client.embed(texts, kind=cast(Kind, kind))
