"""An OpenAI-compatible embeddings server that caches the vectors of another one in a file.

The embedder computes each vector only once, so stores can be measured with many texts.
"""

import base64
import hashlib
import json
import os
import sqlite3
import threading
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 16  # texts of one call


class VectorCache:
    """Vectors of one model by kind and text, as float32, computed on demand."""

    def __init__(self, file: Path, upstream: str, model: str) -> None:
        self.upstream, self.model = upstream, model
        self.database = sqlite3.connect(file, timeout=60, check_same_thread=False)
        self.database.execute("PRAGMA journal_mode=WAL")
        self.database.execute("CREATE TABLE IF NOT EXISTS v (k blob PRIMARY KEY, e blob)")
        self.lock = threading.Lock()
        self.pool = ThreadPoolExecutor(os.cpu_count())
        self.computed = 0  # texts that were not in the cache

    def get(self, texts: Sequence[str], kind: str) -> list[bytes]:
        keys = [self._key(text, kind) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if not self._read(key)}
        todo = sorted(missing.items(), key=lambda each: len(each[1]))
        batches = [todo[start : start + BATCH] for start in range(0, len(todo), BATCH)]
        list(self.pool.map(lambda batch: self._compute(batch, kind), batches))
        return [vector for key in keys if (vector := self._read(key))]

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)
        self.database.close()

    def _key(self, text: str, kind: str) -> bytes:
        return hashlib.sha256(f"{self.model}\0{kind}\0{text}".encode()).digest()

    def _read(self, key: bytes) -> bytes | None:
        with self.lock:
            row = self.database.execute("SELECT e FROM v WHERE k = ?", [key]).fetchone()
        return row[0] if row else None

    def _compute(self, batch: Sequence[tuple[bytes, str]], kind: str) -> None:
        vectors = compute(self.upstream, [text for _, text in batch], kind)
        rows = [(key, vector) for (key, _), vector in zip(batch, vectors, strict=True)]
        with self.lock, self.database:
            self.computed += len(rows)
            self.database.executemany("INSERT OR IGNORE INTO v VALUES (?, ?)", rows)


def compute(upstream: str, texts: Sequence[str], kind: str) -> list[bytes]:
    """Request the vectors of texts from a server; return each as the bytes of float32 numbers."""
    body = {"model": "e5", "input": texts, "input_type": kind, "encoding_format": "base64"}
    request = urllib.request.Request(  # noqa: S310 - on loopback
        f"{upstream}/embeddings", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=600) as answer:  # noqa: S310
        return [base64.b64decode(each["embedding"]) for each in json.load(answer)["data"]]


def kind_of(body: dict[str, Any]) -> str:
    """Return `query` or `passage`, as the embedder would read the request."""
    kind = body.get("input_type") or ("query" if "query" in body["model"] else "passage")
    return str(kind)


@contextmanager
def serve_cache(cache: VectorCache) -> Iterator[tuple[str, Counter[str]]]:
    """Serve the cache; yield its address and the number of texts by client.

    A client is the first part of the path: `ADDRESS/mem0/v1` is that of mem0.
    """
    texts_of: Counter[str] = Counter()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            texts_of[self.path.split("/")[1]] += len(texts)
            vectors = cache.get(texts, kind_of(body))
            is_base64 = body.get("encoding_format") == "base64"
            self._reply([_encode_vector(vector, is_base64=is_base64) for vector in vectors])

        def _reply(self, vectors: list[Any]) -> None:
            data = [
                {"object": "embedding", "index": n, "embedding": vector}
                for n, vector in enumerate(vectors)
            ]
            usage = {"prompt_tokens": 0, "total_tokens": 0}
            answer = {"object": "list", "data": data, "model": cache.model, "usage": usage}
            content = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", texts_of
    finally:
        server.shutdown()
        server.server_close()


def _encode_vector(vector: bytes, *, is_base64: bool) -> Any:
    if is_base64:
        return base64.b64encode(vector).decode()
    return np.frombuffer(vector, np.float32).tolist()
