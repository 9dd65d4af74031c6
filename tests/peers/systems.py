"""The measured stores: kmapp over HTTP, and peers behind their drivers."""

import http.client
import json
import os
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

import kmapp
from kmapp.runtime import embedded
from tests.peers.catalogue import Peer
from tests.peers.texts import Item
from tests.soak.deployment import Deployment, pss

DIMENSIONS = 384
EMBEDDERS_AND_DATABASE = ("postgres", "embedder-query", "embedder-batch")
KEEP_ALIVE_SECONDS = 1.0  # seconds
READY_SECONDS = 1800  # for the vectors of one batch


class Timing(NamedTuple):
    seconds: float
    embedding: float  # of these, spent on embeddings


class System(ABC):
    """The interface that all measured stores share."""

    name: str
    version: str
    through: str  # "HTTP" or "in process"

    @abstractmethod
    def add(self, items: Sequence[Item]) -> Timing:
        """Write the texts, in the store's own batch if there are several."""

    @abstractmethod
    def wait_until_findable(self) -> float:
        """Return the seconds until all written texts can be found by meaning."""

    @abstractmethod
    def search(self, query: str, user: str, limit: int) -> tuple[list[str], Timing]:
        """Return the ids of the results."""

    @abstractmethod
    def search_again(self, query: str, user: str, limit: int) -> float:
        """Repeat a search with a cached vector. Return its seconds, negative if not measured."""

    @abstractmethod
    def bytes_on_disk(self) -> int:
        """Return the size of database and files."""

    @abstractmethod
    def memory(self) -> float:
        """Return the MB (PSS) of its processes without PostgreSQL and embedders."""


@dataclass
class Cluster:
    """The PostgreSQL of the product, in which each peer has a database."""

    sockets: Path

    def url(self, database: str) -> str:
        return f"postgresql://{embedded.ROLES['superuser']}@/{database}?host={self.sockets}"

    def execute(self, statement: str, database: str = "postgres") -> Any:
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            row = cursor.fetchone() if cursor.description else None
            return row[0] if row else None

    def create(self, name: str) -> str:
        self.execute(f"CREATE DATABASE {name}")
        self.execute("CREATE EXTENSION vector", name)
        return self.url(name)

    def size(self, name: str) -> int:
        return int(self.execute(f"SELECT pg_database_size('{name}')"))

    def versions(self) -> str:
        number = self.execute("SHOW server_version")
        vector = self.execute(
            "SELECT default_version FROM pg_available_extensions WHERE name = 'vector'"
        )
        return f"PostgreSQL {number}, pgvector {vector}"


@dataclass
class Product(System):
    """kmapp as `make up` runs it, over its HTTP API."""

    there: Deployment
    cluster: Cluster
    key: str
    name: str = "kmapp"
    through: str = "HTTP"
    version: str = kmapp.__version__
    connection: http.client.HTTPConnection = field(init=False)
    pending: psycopg.Connection[Any] = field(init=False)
    used_at: float = 0.0

    def __post_init__(self) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.there.port, timeout=600)
        # Without sequential scans, the query uses the partial index of pending vectors.
        url, options = self.cluster.url(embedded.DATABASE), "-c enable_seqscan=off"
        self.pending = psycopg.connect(url, autocommit=True, options=options)

    def add(self, items: Sequence[Item]) -> Timing:
        nodes = [_node(item) for item in items]
        return Timing(self._post("memory/write", {"nodes": nodes})[1], 0.0)

    def wait_until_findable(self) -> float:
        began = time.perf_counter()
        query = "SELECT FROM search_vector WHERE state = 'PENDING' LIMIT 1"
        while self.pending.execute(query).rowcount:
            if time.perf_counter() - began > READY_SECONDS:
                raise TimeoutError(f"Some texts have no vector after {READY_SECONDS} s.")
            time.sleep(0.01)
        return time.perf_counter() - began

    def search(self, query: str, user: str, limit: int) -> tuple[list[str], Timing]:
        body = {"query": query, "user_id": user, "limit": limit}
        answer, seconds = self._post("memory/search", body)
        ids = [each["client_id"] or "" for each in answer["results"]]
        return ids, Timing(seconds, 0.0)

    def search_again(self, query: str, user: str, limit: int) -> float:
        return self.search(query, user, limit)[1].seconds  # the vector is in kmapp's cache

    def bytes_on_disk(self) -> int:
        return self.cluster.size(embedded.DATABASE)

    def memory(self) -> float:
        programs = self.there.programs().items()
        pids = [
            pid for name, all_ in programs if name not in EMBEDDERS_AND_DATABASE for pid in all_
        ]
        return sum(map(pss, pids)) / 1024

    def _post(self, path: str, body: dict[str, Any]) -> tuple[Any, float]:
        content = json.dumps(body)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        if time.perf_counter() - self.used_at > KEEP_ALIVE_SECONDS:
            self.connection.close()  # before the server does; the next request opens it
        began = time.perf_counter()
        self.connection.request("POST", f"/v1/{path}", content, headers)
        response = self.connection.getresponse()
        answer = response.read()
        self.used_at = time.perf_counter()
        seconds = self.used_at - began
        if response.status not in (200, 201):
            raise RuntimeError(f"/v1/{path} answered {response.status}: {answer[:500]!r}")
        return json.loads(answer), seconds


def _node(item: Item) -> dict[str, Any]:
    return {
        "client_id": item.id,
        "type": "event" if item.run else "fact",
        "text": item.text,
        "user_id": item.user,
        "run_id": item.run or None,
        "observed_at": item.observed_at,
    }


@dataclass
class PeerProcess(System):
    """A store in its own environment; its driver measures the times inside its process."""

    peer: Peer
    process: "subprocess.Popen[str]"
    cluster: Cluster
    folder: Path
    through: str = "in process"

    def __post_init__(self) -> None:
        self.name = self.peer.name
        self.version = self._read()["version"]

    def add(self, items: Sequence[Item]) -> Timing:
        rows = [item.row() for item in items]
        if len(rows) == 1:
            return self._ask("add_one", item=rows[0])[1]
        return self._ask("add_batch", items=rows)[1]

    def wait_until_findable(self) -> float:
        return 0.0  # a write returns when the vector is stored

    def search(self, query: str, user: str, limit: int) -> tuple[list[str], Timing]:
        return self._ask("search", query=query, user=user, limit=limit)

    def search_again(self, query: str, user: str, limit: int) -> float:
        return -1.0  # the driver measures the embedding

    def bytes_on_disk(self) -> int:
        files = sum(path.stat().st_size for path in self.folder.rglob("*") if path.is_file())
        return files + self.cluster.size(f"peer_{self.name}")

    def memory(self) -> float:
        return pss(self.process.pid) / 1024

    def _ask(self, do: str, **arguments: Any) -> tuple[Any, Timing]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"do": do, "with": arguments}) + "\n")
        self.process.stdin.flush()
        answer = self._read()
        return answer["result"], Timing(answer["seconds"], answer["embedding"])

    def _read(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            log = (self.folder.parent / f"{self.peer.name}.log").read_text(errors="replace")
            raise RuntimeError(f"The driver of {self.peer.name} ended:\n{log[-2000:]}")
        return json.loads(line)


@contextmanager
def start_peer(
    peer: Peer, python: Path, cluster: Cluster, home: Path, embedders: dict[str, str]
) -> Iterator[PeerProcess]:
    """Run a peer's driver with an empty database and folder; end it afterwards."""
    folder = home / peer.name
    folder.mkdir()
    options = embedders | {
        "database": cluster.create(f"peer_{peer.name}"),
        "folder": str(folder),
        "dimensions": DIMENSIONS,
    }
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "MEM0_DIR": str(folder),
        "MEM0_TELEMETRY": "False",
        "NO_PROXY": "127.0.0.1",
    }
    with ExitStack() as stack:
        log = stack.enter_context((home / f"{peer.name}.log").open("w"))
        process = subprocess.Popen(
            [str(python), str(peer.driver), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches only our own process
        )
        stack.callback(_end, process)
        yield PeerProcess(peer, process, cluster, folder)


def _end(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()
