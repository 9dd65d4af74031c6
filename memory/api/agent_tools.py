"""Agent tools of memory."""

from collections.abc import Mapping
from typing import Any

from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, offer, text
from memory.models import MemoryEntry

KIND = {**text("What sort of memory it is."), "enum": list(MemoryEntry.Kind.values)}
MAYBE_KIND = {**KIND, "enum": [*KIND["enum"], None]}
TAGS = {"type": "array", "items": {"type": "string"}, "description": "Short keywords."}
OWNER_IDS: Mapping[str, Any] = {
    "user_id": text("Whose memories, if they belong to one user."),
    "run_id": text("The conversation, if it is about one only."),
}
ID = text("The id of the memory, as a search gave it.")

offer(
    Tool(
        name="memory_search",
        description="Find what is remembered about a question, best first.",
        path="/v1/memory/search",
        scope=Scope.MEMORY_READ,
        required={"query": text("What you want to know, in your own words.")},
        optional={
            "limit": {"type": "integer", "description": "How many memories at most; 10 if null."},
            **OWNER_IDS,
        },
    ),
    Tool(
        name="memory_store",
        description="Remember one fact, preference or lesson that will be useful later.",
        path="/v1/memory/store",
        scope=Scope.MEMORY_WRITE,
        required={"text": text("One self-contained statement.")},
        optional={"kind": MAYBE_KIND, "tags": TAGS, **OWNER_IDS},
    ),
    Tool(
        name="memory_update",
        description="Correct a memory that is wrong or out of date.",
        path="/v1/memory/update",
        scope=Scope.MEMORY_WRITE,
        required={"id": ID, "text": text("What is true now.")},
        optional={"reason": text("Why it changes.")},
    ),
    Tool(
        name="memory_forget",
        description="Stop telling a memory to anyone.",
        path="/v1/memory/forget",
        scope=Scope.MEMORY_WRITE,
        required={"id": ID},
        optional={"reason": text("Why it should be forgotten.")},
    ),
    Tool(
        name="memory_get",
        description="Read one memory whole, by its id.",
        path="/v1/memory/get",
        scope=Scope.MEMORY_READ,
        required={"id": ID},
    ),
)
