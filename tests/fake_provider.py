"""A model provider that responds correctly, slowly, wrongly or not at all, as configured.

Serves the protocols of OpenAI (embeddings, chat) and Jina (reranking) on loopback. Equal texts get
equal vectors, and texts that share words similar ones. A test in this process configures it by
attribute, another process by HTTP:

    python -m tests.fake_provider --port 9000
    curl 127.0.0.1:9000/mode -d '{"mode": "drip"}'      # any field of Behaviour
    curl 127.0.0.1:9000/mode                            # its behaviour and number of requests
"""

import argparse
import base64
import json
import math
import re
import threading
from array import array
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import blake2b
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BAD_VECTORS = ("wrong_dimensions", "nan", "inf", "zero")
BAD_ANSWERS = ("too_few", "reordered")
FAILURES = (
    *("rate_limited", "error", "hang", "drip", "slow"),
    *("refuse", "flagged", "forbidden", "garbage", "no_schema", "elsewhere"),
)
MODES = ("ok", *BAD_VECTORS, *BAD_ANSWERS, *FAILURES)
STATUSES = {
    "elsewhere": 307,
    "refuse": 400,
    "no_schema": 400,
    "flagged": 403,  # moderation refuses the input
    "forbidden": 403,  # the key has no permission
    "rate_limited": 429,
}
WORD = re.compile(r"[a-z0-9]+|[\u4e00-\u9fff]")


@dataclass
class Behaviour:
    """How to respond. `only` limits most modes to requests with a text that contains it."""

    mode: str = "ok"
    only: str = ""
    delay: float = 1.0  # seconds: before a slow answer, between the bytes of a drip
    retry_after: str = ""  # sent with a 429 or a 500
    # The content of the chat's message, or a function of the request; if empty, the last message.
    reply: object = ""
    finish_reason: str = "stop"  # of the chat's message


class FakeProvider(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, port: int = 0, *, dimensions: int = 384) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.dimensions = dimensions
        self.behaviour = Behaviour()
        self.requests = 0
        self.seen: deque[dict[str, Any]] = deque(maxlen=1_000)
        self.given_up = 0  # responses whose client had left
        self.closing = threading.Event()
        self._counting = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @contextmanager
    def serving(self) -> Iterator["FakeProvider"]:
        thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.closing.set()
            self.shutdown()
            self.server_close()
            thread.join()

    def become(self, mode: str = "ok", **changes: Any) -> None:
        """Behave like this from now on; options that are not named return to normal."""
        behaviour = Behaviour(mode=mode, **changes)
        if behaviour.mode not in MODES:
            raise ValueError(f"{mode!r}: one of {', '.join(MODES)}.")
        self.behaviour = behaviour

    def count(self, body: dict[str, Any]) -> None:
        with self._counting:
            self.requests += 1
            self.seen.append(body)


class _Handler(BaseHTTPRequestHandler):
    server: FakeProvider
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        if self.path == "/mode":
            self._send(200, asdict(self.server.behaviour) | {"requests": self.server.requests})
        else:
            self._send(200, {"status": "ok", "object": "list", "data": []})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/mode":
            self.server.become(**body)
            self.do_GET()
            return
        self.server.count(body | {"headers": dict(self.headers)})
        try:
            self._answer(body, self.server.behaviour)
        except ConnectionError:
            self.server.given_up += 1
            self.close_connection = True

    def _answer(self, body: dict[str, Any], behaviour: Behaviour) -> None:
        match behaviour.mode:
            case "hang":
                self.server.closing.wait()
                self.close_connection = True
            case "error" if _contains(body, behaviour.only):
                self._fail(500, behaviour)
            case "rate_limited" | "elsewhere" | "forbidden" as mode:
                self._fail(STATUSES[mode], behaviour)
            case "garbage":
                self._write(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n<p>Hello</p>")
            case "refuse" | "no_schema" | "flagged" as mode if _is_refused(body, behaviour):
                self._fail(STATUSES[mode], behaviour)
            case "drip":
                self._drip(_encode(self._content(body, behaviour)), behaviour.delay)
            case "slow" if not behaviour.only or _contains(body, behaviour.only):
                self.server.closing.wait(behaviour.delay)
                self._send(200, self._content(body, behaviour))
            case _:
                self._send(200, self._content(body, behaviour))

    def _content(self, body: Mapping[str, Any], behaviour: Behaviour) -> dict[str, Any]:
        if self.path.endswith("/chat/completions"):
            message = {"role": "assistant", "content": _reply(body, behaviour)}
            choice = {"message": message, "finish_reason": behaviour.finish_reason}
            return {"choices": [{"index": 0, **choice}]}
        if self.path.endswith("/rerank"):
            return {"results": _relevances(body, behaviour)}
        if self.path.endswith("/search"):  # as another kmapp that finds nothing
            return {"results": [], "decisions": []}
        return _embeddings(body, behaviour, self.server.dimensions)

    def _fail(self, status: int, behaviour: Behaviour) -> None:
        extra = {"Retry-After": behaviour.retry_after} if behaviour.retry_after else {}
        if status == HTTPStatus.TEMPORARY_REDIRECT:
            extra["Location"] = f"{self.server.url}/elsewhere"
        error: dict[str, Any] = {"message": f"configured to respond {status}"}
        if behaviour.mode == "flagged":
            error["metadata"] = {"flagged_input": "some words"}
        self._send(status, {"error": error}, extra)

    def _send(self, status: int, content: object, extra: Mapping[str, str] | None = None) -> None:
        body = _encode(content)
        headers = {"Content-Length": str(len(body)), **(extra or {})}
        lines = [f"{name}: {value}" for name, value in headers.items()]
        head = f"HTTP/1.1 {status} -\r\nContent-Type: application/json\r\n"
        self._write(head.encode() + "\r\n".join([*lines, "", ""]).encode() + body)

    def _drip(self, body: bytes, pause: float) -> None:
        self._write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        for position in range(len(body)):
            if self.server.closing.wait(pause):
                break
            self._write(body[position : position + 1])

    def _write(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()


def _is_refused(body: Mapping[str, Any], behaviour: Behaviour) -> bool:
    if behaviour.mode == "no_schema":
        return "response_format" in body
    return _contains(body, behaviour.only)


def _contains(body: Mapping[str, Any], words: str) -> bool:
    """Return whether a text of the request contains these words."""
    return any(words in text for text in _texts(body))


def _reply(body: Mapping[str, Any], behaviour: Behaviour) -> object:
    if callable(behaviour.reply):
        return behaviour.reply(body)
    return _texts(body)[-1] if behaviour.reply == "" else behaviour.reply


def _relevances(body: Mapping[str, Any], behaviour: Behaviour) -> list[dict[str, Any]]:
    """Return results, best first, by the share of the query's words in a text or by the reply."""
    query = set(WORD.findall(body["query"].lower()))
    scores = [
        len(query & set(WORD.findall(text.lower()))) / max(len(query), 1)
        for text in body["documents"]
    ]
    if callable(behaviour.reply):
        scores = [behaviour.reply(text) for text in body["documents"]]
    if behaviour.mode == "too_few":
        scores = scores[:-1]
    results = [{"index": i, "relevance_score": score} for i, score in enumerate(scores)]
    return sorted(results, key=lambda each: -each["relevance_score"])[: body["top_n"]]


def _encode(content: object) -> bytes:
    return json.dumps(content).encode()


def _texts(body: Mapping[str, Any]) -> list[str]:
    if "documents" in body:
        return list(body["documents"])
    if "messages" in body:
        return [str(message["content"]) for message in body["messages"]]
    return [body["input"]] if isinstance(body["input"], str) else list(body["input"])


def _embeddings(body: Mapping[str, Any], behaviour: Behaviour, dimensions: int) -> dict[str, Any]:
    as_text = body.get("encoding_format") == "base64"
    texts = _texts(body)
    number = len(texts) - (behaviour.mode == "too_few")
    shift = behaviour.mode == "reordered"
    data = []
    for position, text in enumerate(texts[:number]):
        vector = _spoilt(vector_of(text, dimensions), text, behaviour)
        packed = base64.b64encode(array("f", vector).tobytes()).decode()
        # In the wrong order, even a single text gets an index that is not its own.
        index = (position + 1) % max(number, 2) if shift else position
        data.append({"index": index, "embedding": packed if as_text else vector})
    return {"object": "list", "data": data, "model": body["model"]}


def _spoilt(vector: list[float], text: str, behaviour: Behaviour) -> list[float]:
    if behaviour.only not in text:
        return vector
    match behaviour.mode:
        case "wrong_dimensions":
            return vector[:-1]
        case "nan":
            return [math.nan, *vector[1:]]
        case "inf":
            return [math.inf, *vector[1:]]
        case "zero":
            return [0.0] * len(vector)
    return vector


def vector_of(text: str, dimensions: int) -> list[float]:
    """Return a bag of hashed words as a unit vector; texts that share words are similar."""
    vector = [0.01] * dimensions
    for word in WORD.findall(text.lower()):
        hashed = blake2b(word.encode()).digest()
        for place in range(0, 32, 4):
            slot = int.from_bytes(hashed[place : place + 4])
            vector[slot % dimensions] += 1 if slot & 1 << 31 else -1
    length = math.hypot(*vector)
    return [value / length for value in vector]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--mode", choices=MODES, default="ok")
    parser.add_argument("--delay", type=float, default=1.0, help="seconds, of slow modes")
    parser.add_argument("--dimensions", type=int, default=384)
    options = parser.parse_args()
    provider = FakeProvider(options.port, dimensions=options.dimensions)
    provider.become(options.mode, delay=options.delay)
    provider.serve_forever()


if __name__ == "__main__":
    main()
