"""Model providers: any OpenAI-compatible endpoint."""

from kmapp.runtime import env

OPENAI_BASE_URL = env.text("OPENAI_BASE_URL")
OPENAI_API_KEY = env.text("OPENAI_API_KEY")
EMBEDDER_QUERY_PORT = env.integer("EMBEDDER_QUERY_PORT", 8001)
EMBEDDER_BATCH_PORT = env.integer("EMBEDDER_BATCH_PORT", 8002)
# "embedded" selects the embedded embedder although OPENAI_BASE_URL has a chat model.
_EMBEDDER = env.text("EMBEDDING_BASE_URL") or OPENAI_BASE_URL
_EXTERNAL_EMBEDDER = "" if _EMBEDDER == "embedded" else _EMBEDDER
EMBEDDING_IS_EMBEDDED = not _EXTERNAL_EMBEDDER
EMBEDDING_BASE_URL = _EXTERNAL_EMBEDDER or f"http://127.0.0.1:{EMBEDDER_QUERY_PORT}/v1"
EMBEDDING_BATCH_BASE_URL = env.text("EMBEDDING_BATCH_BASE_URL") or (
    _EXTERNAL_EMBEDDER or f"http://127.0.0.1:{EMBEDDER_BATCH_PORT}/v1"
)
EMBEDDING_API_KEY = env.text("EMBEDDING_API_KEY") or OPENAI_API_KEY or "embedded"
EMBEDDING_MODEL = env.text("EMBEDDING_MODEL") or (
    "text-embedding-3-small" if _EXTERNAL_EMBEDDER else "multilingual-e5-small"
)
EMBEDDING_DIMENSIONS = env.integer("EMBEDDING_DIMENSIONS", 1536 if _EXTERNAL_EMBEDDER else 384)
EMBEDDING_DEADLINE = env.seconds("EMBEDDING_DEADLINE", 1.5)
EMBEDDING_BATCH_DEADLINE = env.seconds("EMBEDDING_BATCH_DEADLINE", 60)
BREAKER_FAIL_MAX = env.integer("BREAKER_FAIL_MAX", 5, minimum=1)
BREAKER_RESET_SECONDS = env.seconds("BREAKER_RESET_SECONDS", 30)
BREAKER_SUCCESSES = env.integer("BREAKER_SUCCESSES", 2, minimum=1)
QUERY_CACHE_SECONDS = env.seconds("QUERY_CACHE_SECONDS", 300)
# An optional reranker of the first results of a search.
RERANK_BASE_URL = env.text("RERANK_BASE_URL").rstrip("/")
RERANK_API_KEY = env.text("RERANK_API_KEY")
RERANK_MODEL = env.text("RERANK_MODEL")
RERANK_DEADLINE = env.seconds("RERANK_DEADLINE", 1.0)
CHAT_MODEL = env.text("CHAT_MODEL")
CHAT_DEADLINE = env.seconds("CHAT_DEADLINE", 90)
# A model for images, at the same address as the chat model; it may be the same model.
VISION_MODEL = env.text("VISION_MODEL")
