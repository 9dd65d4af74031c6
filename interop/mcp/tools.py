"""Tools of the MCP server: the agent tools of every app, and those that only MCP offers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp import types

from kmapp.accounts.authentication import KeyPrincipal
from kmapp.accounts.scopes import Scope
from kmapp.api.agent_tools import Tool, list_registered_tools, text_schema

Schema = Mapping[str, Any]
OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": OBJECT}
TEXT: Schema = {"type": "string"}
OWNER = {
    "user_id": text_schema("The user that it is about."),
    "run_id": text_schema("The conversation that it is about."),
}
CONTEXT: Schema = {"type": "object", "description": "Facts about the situation, as JSON."}

MCP_TOOLS = (
    Tool(
        name="memory_inject",
        description="Return a block of the memories that matter for a question, for a prompt.",
        path="/v1/memory/inject",
        scope=Scope.MEMORY_READ,
        required={"query": text_schema("The question or task.")},
        optional={
            **OWNER,
            "max_memories": {"type": "integer", "description": "Maximum number of memories."},
            "token_budget": {"type": "integer", "description": "Maximum tokens of the block."},
        },
    ),
    Tool(
        name="rules_evaluate",
        description="Return the rules that apply to a situation, and the policy they add up to.",
        path="/v1/memory/rules/evaluate",
        scope=Scope.RULES_READ,
        required={"context": CONTEXT},
    ),
    Tool(
        name="tools_select",
        description="Choose among tools by the rules of the organisation.",
        path="/v1/memory/tools/select",
        scope=Scope.RULES_READ,
        required={
            "context": CONTEXT,
            "candidates": {
                "type": "array",
                "items": {"type": "string"},
                "description": "Names of the tools to choose from.",
            },
        },
        optional={"run_id": text_schema("The run that the decision belongs to.")},
    ),
    Tool(
        name="archive_tool_result",
        description="Archive a large tool result; returns a placeholder to put into the context.",
        path="/v1/tool-results",
        scope=Scope.CONTEXT_WRITE,
        required={
            "tool_name": text_schema("The tool that returned the result."),
            "result": text_schema("The whole result."),
        },
        optional={"conversation_id": text_schema("The conversation."), "user_id": OWNER["user_id"]},
    ),
)


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Annotations of a tool, and the fields that its structured output always has."""

    read_only: bool
    output: Mapping[str, Schema]
    destructive: bool = False
    idempotent: bool = True


MEMORY: Mapping[str, Schema] = {"id": TEXT, "text": TEXT, "kind": TEXT}
RESULTS: Mapping[str, Schema] = {"results": OBJECTS, "decisions": OBJECTS}
BEHAVIOURS: Mapping[str, Behaviour] = {
    "memory_search": Behaviour(read_only=True, output=RESULTS),
    "memory_store": Behaviour(read_only=False, output=MEMORY),
    "memory_update": Behaviour(read_only=False, output=MEMORY, destructive=True),
    # A person can restore a forgotten memory, but an agent cannot.
    "memory_forget": Behaviour(read_only=False, output=MEMORY, destructive=True),
    "memory_get": Behaviour(read_only=True, output=MEMORY),
    "memory_inject": Behaviour(read_only=True, output={"text": TEXT, "memories": OBJECTS}),
    "knowledge_search": Behaviour(read_only=True, output=RESULTS),
    "knowledge_get": Behaviour(read_only=True, output={"text": TEXT}),
    "load_tool_history": Behaviour(read_only=True, output={"content": TEXT}),
    "rules_evaluate": Behaviour(read_only=True, output={"applied": OBJECT, "active": OBJECTS}),
    "tools_select": Behaviour(
        read_only=False, output={"selection": OBJECT, "decision": OBJECT}, idempotent=False
    ),
    "archive_tool_result": Behaviour(read_only=False, output={"content": TEXT}, idempotent=False),
}


def list_tools(principal: KeyPrincipal) -> list[Tool]:
    """Return the tools that the scopes of a key allow."""
    return [tool for tool in all_tools() if principal.may(tool.scope)]


def find_tool(name: str) -> Tool | None:
    return next((tool for tool in all_tools() if tool.name == name), None)


def all_tools() -> Sequence[Tool]:
    return (*list_registered_tools(), *MCP_TOOLS)


def tool_definition(tool: Tool) -> types.Tool:
    behaviour = BEHAVIOURS[tool.name]
    return types.Tool(
        name=tool.name,
        title=tool.name.replace("_", " ").capitalize(),
        description=tool.description,
        input_schema={
            "type": "object",
            "properties": {**tool.required, **tool.optional},
            "required": list(tool.required),
            "additionalProperties": False,
        },
        output_schema={
            "type": "object",
            "properties": dict(behaviour.output),
            "required": list(behaviour.output),
        },
        annotations=types.ToolAnnotations(
            read_only_hint=behaviour.read_only,
            destructive_hint=behaviour.destructive,
            idempotent_hint=behaviour.idempotent,
            open_world_hint=False,
        ),
    )
