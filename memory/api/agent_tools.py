"""Agent tools of memory."""

from collections.abc import Mapping
from typing import Any

from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, register_tools, text_schema
from memory.models import MemoryEntry

KIND = {**text_schema("The kind of memory."), "enum": list(MemoryEntry.Kind.values)}
MAYBE_KIND = {**KIND, "enum": [*KIND["enum"], None]}
TAGS = {"type": "array", "items": {"type": "string"}, "description": "Short keywords."}
OWNER_IDS: Mapping[str, Any] = {
    "user_id": text_schema("The user that the memory is about."),
    "run_id": text_schema("The conversation that the memory is about."),
}
ID = text_schema("The ID of the memory, from a search.")

register_tools(
    Tool(
        name="memory_search",
        description="Search the memories for a question, best match first.",
        path="/v1/memory/search",
        scope=Scope.MEMORY_READ,
        required={"query": text_schema("The question, in your own words.")},
        optional={
            "limit": {"type": "integer", "description": "Maximum number of memories; 10 if null."},
            **OWNER_IDS,
        },
    ),
    Tool(
        name="memory_store",
        description="Store one fact, preference or lesson that will be useful later.",
        path="/v1/memory/store",
        scope=Scope.MEMORY_WRITE,
        required={"text": text_schema("One self-contained statement.")},
        optional={"kind": MAYBE_KIND, "tags": TAGS, **OWNER_IDS},
    ),
    Tool(
        name="memory_update",
        description="Correct a memory that is wrong or out of date.",
        path="/v1/memory/update",
        scope=Scope.MEMORY_WRITE,
        required={"id": ID, "text": text_schema("The corrected text.")},
        optional={"reason": text_schema("The reason for the change.")},
    ),
    Tool(
        name="memory_forget",
        description="Hide a memory from recall; a person can restore it.",
        path="/v1/memory/forget",
        scope=Scope.MEMORY_WRITE,
        required={"id": ID},
        optional={"reason": text_schema("The reason.")},
    ),
    Tool(
        name="memory_get",
        description="Return one memory in full, by its ID.",
        path="/v1/memory/get",
        scope=Scope.MEMORY_READ,
        required={"id": ID},
    ),
)
