"""Pytest plugin: the published tests of LangGraph's stores use a KmappStore.

Each store has its own root namespace, because the tests expect an empty store.
"""

import os
import uuid
from typing import Any

import langgraph.store.memory
from kmapp_langgraph import KmappStore


class EmptyStore(KmappStore):
    """A store that ignores the arguments of InMemoryStore, because kmapp has its own index."""

    def __init__(self, **_: Any) -> None:
        super().__init__(
            os.environ["KMAPP_URL"], os.environ["KMAPP_API_KEY"], root=(uuid.uuid4().hex,)
        )


langgraph.store.memory.InMemoryStore = EmptyStore
