from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.providers.models import EmbeddingModel as Form
from tests import makers
from tests.kernel.bodies import SHARED
from tests.kernel.names import Names, list_actor_names
from tests.web.proposals import propose
from tests.web.staff import fill


@pytest.fixture
def without_valkey(settings: Settings) -> None:
    """Point the cache at a server that does not exist."""
    cache = {**settings.CACHES["default"], "LOCATION": "unix:///tmp/no-such-kmapp-valkey.sock"}
    settings.CACHES = {"default": cache}


@pytest.fixture
def form() -> Form:
    return Form(name="fake", dimensions=384)


@pytest.fixture
def sender(agent: Client, settings: Settings) -> Client:
    """Return a client without rate limits that receives responses to server errors."""
    settings.THROTTLES = dict.fromkeys(settings.THROTTLES, 1_000_000)
    agent.raise_request_exception = False
    return agent


@pytest.fixture
def names(acme: Account, sender: Client) -> Names:
    """Create rows of every kind; the agent may change the memory, the archive and the run."""
    with acting(acme):
        Account.objects.filter(pk=acme.pk).update(redact=[])  # text must come back unchanged
    entry = fill(acme)[0]
    member = makers.member(acme, "mira", role="admin")
    waiting = propose(acme, "Acme wants everyone to know this.")[0]
    foreign_names = list_actor_names(acme, entry=entry, proposal=waiting, member=member)

    def create(path: str, **body: Any) -> Any:
        return sender.post(f"/v1/{path}", body, "application/json").json()

    own = create("memory/store", **SHARED["memory"], client_id="mine")
    result = create(
        "tool-results", **SHARED["chat"], tool_name="look", result="Red. " * 9, threshold=0
    )
    create("memory/tools/select", context={}, candidates=["bash"], run_id="r")
    return replace(
        foreign_names, entry=own["id"], client_id="mine", archive=result["archive"]["uuid"]
    )
