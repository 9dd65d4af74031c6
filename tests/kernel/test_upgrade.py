"""`manage.py upgrade` of the real product under load: no request fails and no job is lost."""

import http.client
import json
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import pytest

from kmapp.runtime.embedded.temporary_servers import free_port
from kmapp.runtime.processes import wait_until
from tests.promises.plugin import RecordFigure
from tests.soak.deployment import Deployment, deployment

PATIENCE = 300  # seconds
SEARCHES = 10  # for each write, whose vector is computed at low priority
MCP_PAUSE = 0.02  # seconds between two calls of a client, which share the processors with agents

# Alone: requests have time limits of seconds, such as two for a lock or a connection.
pytestmark = [
    pytest.mark.long,
    pytest.mark.alone,
    pytest.mark.promise(45),
    pytest.mark.timeout(2 * PATIENCE),
]


@dataclass
class Agent:
    """Writes and searches without a pause, on new connections or on a persistent one."""

    port: int
    key: str
    keep: bool
    number: int
    written: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    searches: int = 0

    def run(self, stop: threading.Event) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not stop.is_set():
            text = f"Agent {self.number} counts to {len(self.written)}."
            user = f"agent-{self.number}"
            stored = self.post("store", {"text": text, "user_id": user})
            if stored is not None:
                self.written.append(stored["id"])
            for _ in range(SEARCHES):
                self.post("search", {"query": "counts", "user_id": user})
                self.searches += 1
        self.connection.close()

    def list_written(self) -> list[str]:
        """Return the memories that were acknowledged; each must be there."""
        user = f"agent-{self.number}"
        answers = [self.post("get", {"id": each, "user_id": user}) for each in self.written]
        self.connection.close()
        assert [each and each["id"] for each in answers] == self.written, self.failures
        return self.written

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any] | None:
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        try:
            self.connection.request("POST", f"/v1/memory/{path}", json.dumps(body), headers)
            response = self.connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.failures.append(repr(error))
            self.connection.close()
            return None
        finally:
            if not self.keep:
                self.connection.close()
        if response.status not in (HTTPStatus.OK, HTTPStatus.CREATED):
            self.failures.append(f"{response.status} {answer.decode()}")
            return None
        return dict(json.loads(answer))


@dataclass
class McpClient:
    """Calls a tool of the MCP server, on new connections or on a persistent one.

    A server that stops closes the connections that have no request in progress. The client then
    sends the call once more, as the documentation says.
    """

    port: int
    key: str
    keep: bool
    calls: int = 0
    repeated: int = 0
    failures: list[str] = field(default_factory=list)

    def run(self, stop: threading.Event) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not stop.wait(MCP_PAUSE):
            try:
                self.call_or_repeat()
                self.calls += 1
            except (OSError, http.client.HTTPException, ValueError) as error:
                self.failures.append(repr(error))
                self.connection.close()
            if not self.keep:
                self.connection.close()
        self.connection.close()

    def call_or_repeat(self) -> None:
        try:
            self.call()
        except (BrokenPipeError, ConnectionResetError):  # closed without a response
            self.repeated += 1
            self.connection.close()
            self.call()

    def call(self) -> None:
        """Raise ValueError unless the tool answers."""
        arguments = {"query": "counts", "user_id": "agent-0"}
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "memory_search", "arguments": arguments},
        }
        headers = {
            "Authorization": f"Bearer {self.key}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.connection.request("POST", "/mcp", json.dumps(body), headers)
        response = self.connection.getresponse()
        answer = response.read().decode()
        if response.status != HTTPStatus.OK or '"structuredContent"' not in answer:
            raise ValueError(f"{response.status} {answer}")


def pending(port: int, key: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/v1/health", headers={"Authorization": f"Bearer {key}"})
    body = json.loads(connection.getresponse().read())
    connection.close()
    return int(body["pending_embeddings"])


def test_no_request_fails_during_an_upgrade(record_figure: RecordFigure) -> None:
    mcp_port = free_port()
    with deployment({"MCP_PORT": str(mcp_port)}) as product:
        key = json.loads((product.home / "credentials.json").read_text())["api_key"]
        agents = [Agent(product.port, key, keep=n > 1, number=n) for n in range(4)]
        clients = [McpClient(mcp_port, key, keep=keep) for keep in (False, True)]
        callers: list[Agent | McpClient] = [*agents, *clients]
        stop = threading.Event()
        threads = [threading.Thread(target=each.run, args=(stop,)) for each in callers]
        before = first_processes(product)
        for thread in threads:
            thread.start()
        try:
            assert wait_until(
                lambda: all(agent.written for agent in agents) and all(c.calls for c in clients),
                PATIENCE,
            )
            done = product.command("upgrade")
            seen = [len(agent.written) for agent in agents]
            called = [client.calls for client in clients]
            assert wait_until(
                lambda: (
                    all(len(a.written) > n + 1 for a, n in zip(agents, seen, strict=True))
                    and all(c.calls > n + 1 for c, n in zip(clients, called, strict=True))
                ),
                PATIENCE,
            )
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert done.returncode == 0, done.stderr + product.output.read_text()
        failures = [failure for each in callers for failure in each.failures]
        assert failures == [], f"{failures}\n{product.warnings()}"
        after = first_processes(product)
        assert before.keys() == after.keys()
        replaced = {name for name in before if before[name] != after[name]}
        assert replaced == {"web", "worker", "beat", "mcp"}
        assert wait_until(lambda: pending(product.port, key) == 0, PATIENCE)
        diagnosis = product.command("doctor", "--json")
        findings = json.loads(diagnosis.stdout)["findings"]
        errors = {each["check"] for each in findings if each["level"] == "ERROR"}
        assert errors == {"secrets"}, diagnosis.stdout  # the key of the tests is short
        failed_jobs = [each for each in findings if "failed permanently" in each["message"]]
        assert failed_jobs == []
        writes = sum(len(agent.list_written()) for agent in agents)
        searches = sum(agent.searches for agent in agents)
        calls = sum(client.calls for client in clients)
        repeated = sum(client.repeated for client in clients)
        record_figure(
            f"0 of {writes + searches + calls:,} requests failed, {repeated} calls of MCP sent"
            f" twice; {writes:,} memories there"
        )
    assert product.command("upgrade").returncode == 1  # nothing runs


def first_processes(product: Deployment) -> dict[str, int]:
    return {name: pids[0] for name, pids in product.programs().items()}
