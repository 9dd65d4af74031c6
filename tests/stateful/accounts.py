"""An account with its clients and the model of its memories."""

from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from django.db import connections
from django.test import Client
from rest_framework.test import APIClient

from kmapp.accounts.models import Account
from memory.models import BulkRun
from tests import makers
from tests.agent import Agent
from tests.stateful.memory_model import Memory, Model


@dataclass
class ModelledAccount:
    """One account with its clients and its model."""

    account: Account
    agent: Agent
    reader: Agent  # with the scope `memory:read` only
    person: Client
    model: Model = field(default_factory=Model)

    @classmethod
    def create(cls) -> "ModelledAccount":
        account = makers.account(f"Acme {uuid4().hex[:8]}")
        person = makers.member(account, f"ada-{uuid4().hex[:8]}", role="admin")
        reader = makers.agent(account, ("memory:read",))
        return cls(account, makers.agent(account), reader, makers.signed_in(person))

    def find_new_run(self) -> str:
        """Return the id of the bulk run that the model does not have yet."""
        runs = {str(run.pk) for run in makers.rows(BulkRun, self.account)}
        [run] = runs - self.model.runs.keys()
        return run

    def act(self, path: str, **form: Any) -> int:
        return int(self.person.post(path, form).status_code)

    def ask(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        answer = self.agent.client.post(
            f"/v1/memory/{path}", body, format="json", headers=headers or None
        )
        return answer.status_code, answer.json()

    def expect(self, status: int, path: str, body: Any, **headers: str) -> Any:
        answer = self.ask(path, body, **headers)
        assert answer[0] == status, (path, body, answer)
        return answer[1]


def correct_in_thread(side: ModelledAccount, memory: Memory, text: str) -> tuple[int, Any]:
    """Correct a memory with a client and a connection of this thread's own."""
    client = APIClient()
    client.defaults = dict(side.agent.client.defaults)
    body = {"id": memory.id, "version": memory.version, "text": text}
    try:
        return replace(side, agent=Agent(client)).ask("update", body)
    finally:
        connections.close_all()
