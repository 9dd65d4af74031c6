"""Tools that agents can offer to a model to load archived tool results."""

from context.archives.placeholders import LOAD_TOOL_HISTORY, TOOL
from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, register_tools, text

_WORDS = LOAD_TOOL_HISTORY["en"]

register_tools(
    Tool(
        name=TOOL,
        description=_WORDS["description"],
        path="/v1/tool-results/load",
        scope=Scope.CONTEXT_READ,
        required={"uuid": text(_WORDS["uuid"])},
        optional={"query": text(_WORDS["query"])},
    )
)
