"""The tool that agents can offer to a model to load archived tool results."""

from context.archives.history_tool_prompts import LOAD_TOOL_HISTORY
from context.archives.placeholders import TOOL
from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, register_tools, text_schema


def build_load_tool(language: str) -> Tool:
    words = LOAD_TOOL_HISTORY[language]
    return Tool(
        name=TOOL,
        description=words["description"],
        path="/v1/tool-results/load",
        scope=Scope.CONTEXT_READ,
        required={"uuid": text_schema(words["uuid"])},
        optional={"query": text_schema(words["query"])},
    )


register_tools(build_load_tool("en"))
