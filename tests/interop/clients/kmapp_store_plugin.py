"""Pytest plugin: the published tests of LangGraph's stores use a KmappStore.

Every store of a test is below a namespace of its own, because the tests expect an empty one.
"""

import os
import uuid
from typing import Any

import langgraph.store.memory
from kmapp_langgraph import KmappStore


class EmptyStore(KmappStore):
    """A store that takes the arguments of InMemoryStore; kmapp has an index of its own."""

    def __init__(self, **_: Any) -> None:
        super().__init__(
            os.environ["KMAPP_URL"], os.environ["KMAPP_API_KEY"], root=(uuid.uuid4().hex,)
        )


langgraph.store.memory.InMemoryStore = EmptyStore
