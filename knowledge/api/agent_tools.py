"""Tools that agents can offer to a model to search knowledge."""

from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, offer, text

offer(
    Tool(
        name="knowledge_search",
        description="Find passages of the organisation's documents, best first, with citations.",
        path="/v1/knowledge/search",
        scope=Scope.KNOWLEDGE_READ,
        required={"query": text("What you want to know, in your own words.")},
        optional={
            "limit": {"type": "integer", "description": "Maximum number of passages; 10 if null."}
        },
    ),
    Tool(
        name="knowledge_get",
        description="Read the full text of a passage by its ID.",
        path="/v1/knowledge/get",
        scope=Scope.KNOWLEDGE_READ,
        required={"id": text("The ID of the passage in the search results.")},
    ),
)
