"""Tools that agents can offer to a model to search knowledge."""

from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, register_tools, text_schema

register_tools(
    Tool(
        name="knowledge_search",
        description="Search the organisation's documents for passages to cite, best match first.",
        path="/v1/knowledge/search",
        scope=Scope.KNOWLEDGE_READ,
        required={"query": text_schema("The question, in your own words.")},
        optional={
            "limit": {"type": "integer", "description": "Maximum number of passages; 10 if null."}
        },
    ),
    Tool(
        name="knowledge_get",
        description="Return the whole passage that a citation names, exactly as it was cited.",
        path="/v1/knowledge/get",
        scope=Scope.KNOWLEDGE_READ,
        required={},
        optional={
            "uri": text_schema("The URI of a citation, from a search."),
            "id": text_schema("The ID of a passage, instead of a URI."),
        },
    ),
)
