"""The request loop and the timed embedder that all drivers share.

Standard library only: a driver runs in the environment of its store. Requests are JSON lines on the
standard input; the driver ends with its input, so it cannot outlive the program that started it.
"""

import base64
import http.client
import json
import os
import sys
import time
from array import array
from importlib.metadata import version
from urllib.parse import urlsplit


class Clock:
    """Seconds spent on embeddings during the current request."""

    embedding = 0.0


class Embedder:
    """An OpenAI-compatible embedder of passages or of queries, over one connection."""

    def __init__(self, base_url, kind):
        self.parts, self.kind = urlsplit(base_url), kind
        self.connection = http.client.HTTPConnection(self.parts.hostname, self.parts.port)

    def embed(self, texts):
        """Return a list of floats for each text."""
        began = time.perf_counter()
        body = {
            "model": "multilingual-e5-small",
            "input": list(texts),
            "input_type": self.kind,
            "encoding_format": "base64",
        }
        self.connection.request("POST", f"{self.parts.path}/embeddings", json.dumps(body))
        response = self.connection.getresponse()
        content = response.read()
        if response.status != 200:
            raise RuntimeError(f"The embedder answered {response.status}: {content[:200]}")
        vectors = [
            array("f", base64.b64decode(each["embedding"])).tolist()
            for each in json.loads(content)["data"]
        ]
        Clock.embedding += time.perf_counter() - began
        return vectors


def serve(store_class, package):
    """Open the store described in the first argument, and answer requests until the input ends."""
    output = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print goes to the log
    options = json.loads(sys.argv[1])
    store = store_class(options)
    output.write(json.dumps({"version": version(package)}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        Clock.embedding = 0.0
        began = time.perf_counter()
        result = getattr(store, request["do"])(**request["with"])
        seconds = time.perf_counter() - began
        reply = {"seconds": seconds, "embedding": Clock.embedding, "result": result}
        output.write(json.dumps(reply) + "\n")
