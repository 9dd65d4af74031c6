"""Clients of the deployment; each records what was acknowledged."""

import http.client
import json
import random
import re
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlencode

from tests.soak.deployment import Deployment

OK, CREATED, FOUND, MISSING, CONFLICT, AWAY = 200, 201, 302, 404, 409, 503
BATCH = 3
ENTRIES = 60  # of one imported file
TRIES = 20
RULE_STATES = ("shadow", "active", "disabled")  # of a rule, one after another
THINGS = ("kettle", "lantern", "ladder", "rowing boat", "茶壶", "灯笼", "梯子", "小船")
PLACES = ("the north gate", "dock seven", "the tea room", "北门", "七号码头", "茶室")


@dataclass
class HttpClient:
    """An HTTP client with a connection per request, which counts the responses."""

    port: int
    headers: Mapping[str, str]
    answers: Counter[int] = field(default_factory=Counter)  # by status; 0 for none

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(self.headers))
            answer = connection.getresponse()
            status, text = answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException):
            status, text = 0, ""
        finally:
            connection.close()
        self.answers[status] += 1
        return status, text

    def call(self, path: str, body: Any) -> tuple[int, Any]:
        status, text = self.ask("POST", f"/v1/{path}", json.dumps(body))
        return status, json.loads(text) if status in (OK, CREATED) else None


@dataclass
class Worker(ABC):
    """A client that repeats one operation until it is stopped."""

    name: str
    tag: str  # of the account: every text begins with it
    client: HttpClient
    pause: float  # mean seconds
    wrong: list[str] = field(default_factory=list, kw_only=True)  # violations that it noticed
    turns: int = field(default=0, kw_only=True)

    def work(self, stop: Event) -> None:
        dice = random.Random(self.name)  # noqa: S311
        while not stop.is_set():
            self.turn(self.turns, dice, stop)
            self.turns += 1
            stop.wait(self.pause * dice.uniform(0.5, 1.5))

    @abstractmethod
    def turn(self, number: int, dice: random.Random, stop: Event) -> None:
        """Do the operation once."""

    def repeat(self, path: str, body: Any) -> Any:
        """Send a request until it gets a response, even after the end of the load.

        Return the response, or None for a refusal, which is a violation.
        """
        while True:
            status, answer = self.client.call(path, body)
            if answer is not None:
                return answer
            if status not in (0, AWAY):
                self.wrong.append(f"{self.name}: {path} was answered {status}")
                return None
            time.sleep(0.5)


def post_text(dice: random.Random) -> str:
    return f"the {dice.choice(THINGS)} stands at {dice.choice(PLACES)}"


@dataclass
class Writer(Worker):
    """Writes batches for one user and proposals for the account; repeats failed requests."""

    acknowledged: dict[str, str] = field(default_factory=dict)  # id by client id

    def turn(self, number: int, dice: random.Random, stop: Event) -> None:
        names = [f"{self.name}-{number}-{each}" for each in range(BATCH)]
        nodes: list[dict[str, Any]] = [
            {
                "client_id": name,
                "text": f"{self.tag}: note {name}, {post_text(dice)}.",
                "user_id": "ann",
                "run_id": f"{self.name}-{number // 20}",
            }
            for name in names
        ]
        nodes[-1] |= {"user_id": None, "run_id": None, "visibility": "account"}
        if body := self.repeat("memory/write", {"nodes": nodes}):
            self.acknowledged |= {node["client_id"]: node["id"] for node in body["nodes"]}


@dataclass
class Eraser(Worker):
    """Writes memories for one user after another, and erases the user."""

    erased: list[str] = field(default_factory=list)  # client ids

    def turn(self, number: int, dice: random.Random, stop: Event) -> None:
        user = f"{self.name}-{number}"
        names = [f"{user}-{each}" for each in range(BATCH)]
        nodes = [
            {
                "client_id": name,
                "text": f"{self.tag}: note {name}, {post_text(dice)}.",
                "user_id": user,
            }
            for name in names
        ]
        if self.repeat("memory/write", {"nodes": nodes}) and self._erase(user):
            self.erased += names

    def _erase(self, user: str) -> bool:
        """Erase a user until nothing is left; return whether it is so."""
        selection, is_confirmed, is_erased = {"user_id": user}, False, False
        status, counted = 0, None
        for _ in range(10 * TRIES):
            status, counted = self.client.call("memory/erase", selection)
            if status == MISSING and is_confirmed:
                return True
            if counted and (is_erased or counted["count"] != BATCH):
                break
            if counted:
                confirmed = {**selection, "confirm_token": counted["confirm_token"]}
                status, _ = self.client.call("memory/erase", confirmed)
                is_confirmed, is_erased = True, status == OK
            time.sleep(0.5)
        self.wrong.append(f"{user} was not erased: {status}, {counted}")
        return False


@dataclass
class RuleEditor(Worker):
    """Creates rules, changes their states, and evaluates each rule after each change."""

    # The id and the number of state changes, by client id.
    acknowledged: dict[str, tuple[str, int]] = field(default_factory=dict)

    def turn(self, number: int, dice: random.Random, stop: Event) -> None:
        name = f"{self.name}-{number}"
        rule = {
            "client_id": name,
            "name": f"{self.tag}: {name}",
            "if": {"task": name},
            "then": {"tool": {"deny": ["curl"]}},
        }
        created = self.repeat("rules", rule)
        if not created:
            return
        pk = created["id"]
        for changes, state in enumerate(RULE_STATES if number % 20 else RULE_STATES[:-1], 1):
            change = {"rule_node_id": pk, "state": state, "input_text": "Next."}
            if not self.repeat("memory/rules/state", change):
                return
            self.acknowledged[name] = pk, changes
            _, body = self.client.call("memory/rules/evaluate", {"context": {"task": name}})
            for kind in ("shadow", "active") if body else ():
                matched = [each["rule_node_id"] for each in body[kind]]
                if matched != ([pk] if kind == state else []):
                    self.wrong.append(f"{self.name}: {matched} are {kind}, {pk} is {state}")


@dataclass
class Reader(Worker):
    """Searches, and reads acknowledged memories of a writer."""

    writer: Writer
    topics: set[str] = field(default_factory=set)  # ids; their texts do not name the account

    def turn(self, number: int, dice: random.Random, stop: Event) -> None:
        query = f"Where is the {dice.choice(THINGS)}? ({number})"
        _, body = self.client.call("memory/search", {"query": query, "user_id": "ann"})
        for result in body["results"] if body else ():
            if result["kind"] == "topic":
                self.topics.add(result["id"])
            elif not result["text"].startswith(f"{self.tag}:"):
                self.wrong.append(f"{self.name} got a memory of another account: {result['id']}")
        acknowledged = list(self.writer.acknowledged.items())
        if acknowledged:
            client_id, pk = dice.choice(acknowledged)
            status, body = self.client.call("memory/get", {"id": pk, "user_id": "ann"})
            if body and body["client_id"] != client_id:
                self.wrong.append(f"{self.name}: {pk} is another memory than it was")
            # Agents cannot read a proposal before its approval.
            if status == 404 and not client_id.endswith(f"-{BATCH - 1}"):
                self.wrong.append(f"{self.name}: {client_id} was lost")


@dataclass
class Reviewer(Worker):
    """Approves the first proposal of the queue, on the pages."""

    approved: list[str] = field(default_factory=list)

    def turn(self, number: int, dice: random.Random, stop: Event) -> None:
        status, page = self.client.ask("GET", "/review/")
        form = re.search(
            r'action="(/review/([0-9a-f-]{36})/approve/[^"]*)".*?name="version" value="(\d+)"',
            page,
            re.DOTALL,
        )
        if status != OK or not form:
            return
        path, pk, version = form.groups()
        status, _ = self.client.ask("POST", path, urlencode({"version": version}))
        if status in (OK, FOUND):
            self.approved.append(pk)
        elif status not in (0, AWAY, CONFLICT):
            self.wrong.append(f"{self.name}: a decision was answered {status}")


@dataclass
class Importer(Worker):
    """Imports files with the command, each until the command succeeds."""

    deployment: Deployment
    folder: Path
    imported: list[str] = field(default_factory=list)  # client ids
    repeats: int = 0

    def turn(self, number: int, dice: random.Random, stop: Event) -> None:
        file = self.folder / f"{number}.jsonl"
        names = [f"{self.name}-{number}-{each}" for each in range(ENTRIES)]
        lines = [{"object": "memories", "format": 1}] + [
            {
                "object": "entry",
                "client_id": name,
                "text": f"{self.tag}: line {name}, {post_text(dice)}.",
                "user_id": "ann",
            }
            for name in names
        ]
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
        for _ in range(TRIES):
            done = self.deployment.command("memories", "import", "--account", "main", str(file))
            if done.returncode == 0:
                self.imported += names
                return
            self.repeats += 1
            time.sleep(1)
        self.wrong.append(f"{self.name}: no import in {TRIES} tries, see {file}")
