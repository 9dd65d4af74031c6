"""Agent tools of knowledge."""

from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, offer, text

offer(
    Tool(
        name="knowledge_search",
        description="Find passages of the organisation's documents, best first, to be cited.",
        path="/v1/knowledge/search",
        scope=Scope.KNOWLEDGE_READ,
        required={"query": text("What you want to know, in your own words.")},
        optional={
            "limit": {"type": "integer", "description": "How many passages at most; 10 if null."}
        },
    ),
    Tool(
        name="knowledge_get",
        description="Read one passage whole, by its id.",
        path="/v1/knowledge/get",
        scope=Scope.KNOWLEDGE_READ,
        required={"id": text("The id of the passage, as a search gave it.")},
    ),
)
