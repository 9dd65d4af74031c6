"""Personal data that an account redacts is never written to disk."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import re2

from kmapp.accounts.models import Account
from tests.chaos.conftest import ChaosServer
from tests.chaos.measure import amount, seconds_until
from tests.chaos.product import Product
from tests.pii_corpus import MARKED_SAMPLES
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.promise(39)]

SHORTEST = 11  # characters; shorter texts occur in files by chance
CONTROL = b"q7nothingpersonal"
MARKED = [text for texts in MARKED_SAMPLES.values() for text in texts]


def secrets() -> Iterator[str]:
    for text in MARKED:
        secret = re.split("[«»]", text)[1]
        if len(secret) >= SHORTEST:
            yield secret


def on_disk(folder: Path, needles: list[bytes]) -> set[tuple[str, bytes]]:
    """Return the files of the database, Valkey and the logs that contain a text, with the text."""
    any_needle = re2.compile(b"|".join(map(re2.escape, needles)))  # finds all in one pass
    results = set()
    for file in folder.rglob("*"):
        if file.is_file() and not file.is_symlink():
            content = file.read_bytes()
            if any_needle.search(content):
                results |= {(file.name, each) for each in needles if each in content}
    return results


def test_redacted_text_is_in_no_file(
    product: Product, acme: Account, chaos_server: ChaosServer, record_figure: RecordFigure
) -> None:
    """Send personal data in every field of the endpoints for agents, and as queries."""
    product.ensure_running("valkey", "provider", "web", "worker", "beat")
    needles = [each.encode() for each in secrets()]
    assert len(needles) > 100
    before = on_disk(chaos_server.home, needles)
    texts = [re.sub("[«»]", "", text) for text in MARKED]
    nodes = [{"text": t, "title": t, "metadata": {"a": [t]}, "user_id": "u"} for t in texts]
    written = ask(product, "memory/write", {"nodes": nodes, "input_text": " ".join(texts)})
    for text, node in [*zip(texts, written["nodes"], strict=True)][:: amount(3, 12)]:
        send_everywhere(product, text, node["id"])
    ask(
        product,
        "memory/store",
        {"text": f"What is not blacked out: {CONTROL.decode()}.", "user_id": "u"},
    )
    seconds_until(lambda: product.request("GET", "health").body["pending_embeddings"] == 0, 120)
    assert on_disk(chaos_server.home, [CONTROL]), "what is written reaches the disk"
    assert on_disk(chaos_server.home, needles) - before == set()
    record_figure(f"{len(needles)} pieces of personal data written, 0 in any file")


def send_everywhere(product: Product, text: str, pk: str) -> None:
    ask(product, "memory/update", {"id": pk, "text": f"{text} !", "reason": text})
    ask(product, "memory/store", {"text": f"{text} ?", "user_id": "u"})
    body = {"messages": [{"role": "user", "content": text}], "infer": False, "user_id": "u"}
    ask(product, "memory/add", body)
    for door in ("search", "inject"):
        ask(product, f"memory/{door}", {"query": text, "user_id": "u"})


def ask(product: Product, path: str, body: Any) -> Any:
    answer = product.post(path, body)
    assert answer.status < 300, (path, answer.body)
    return answer.body
