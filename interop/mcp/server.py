"""The MCP server: tools, resources and prompts, each answered by native calls."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any
from uuid import UUID

from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.utils.encoders import JSONEncoder

import kmapp
from interop.mcp.native_session import NativeSession
from interop.mcp.tools import find_tool, list_tools, tool_definition
from interop.native_client import NativeError
from kmapp.api.object_uris import parse_uri
from knowledge.retrieval.citations import parse_uri as parse_citation_uri

Context = ServerRequestContext[Any, Any]
SessionOf = Callable[[Context], NativeSession]  # the key comes from a header or the environment

INSTRUCTIONS = """\
kmapp is an organisation's knowledge base for its agents. Search memory and knowledge before you
answer, cite what you use, and store facts, preferences and lessons that will be useful later.
Memories for the whole organisation are reviewed by a person before others see them."""
JSON = "application/json"
PROMPT = "assemble_context"

# URI template, name, description, native path and the field that holds the id.
RESOURCES = (
    ("km://memory/{id}", "memory", "A memory.", "/v1/memory/get", "id"),
    ("km://chunk/{id}", "chunk", "A cited passage of a document.", "/v1/knowledge/get", "id"),
    (
        *("km://tool-result/{uuid}", "tool_result", "The tool result that a placeholder names."),
        *("/v1/tool-results/load", "uuid"),
    ),
)
# The same in results of searches: URI template, name and description.
CITATIONS = (
    ("km://{account}/{scope}/{kind}/{id}", "memory_uri", "A memory, by the URI of a result."),
    (
        *("kmapp://knowledge/{document}#{start}-{end}@{sha}", "citation"),
        "The passage that a citation of a document names.",
    ),
)


class McpServer:
    """Handlers of the protocol. `session_of` returns the native API for the caller's key."""

    def __init__(self, session_of: SessionOf) -> None:
        self.session_of = session_of

    def build(self) -> Server[Any]:
        return Server(
            "kmapp",
            version=kmapp.__version__,
            title="kmapp",
            instructions=INSTRUCTIONS,
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_resource_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
        )

    async def list_tools(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the tools that the key may use."""
        try:
            principal = await self.session_of(context).authenticate()
        except AuthenticationFailed as error:
            raise MCPError(types.INVALID_REQUEST, str(error.detail)) from error
        return types.ListToolsResult(
            tools=[tool_definition(tool) for tool in list_tools(principal)]
        )

    async def call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Call a tool; an error of the native API is the tool's error, for the model to read."""
        tool = find_tool(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"There is no tool named {params.name!r}.")
        arguments = {
            name: value for name, value in (params.arguments or {}).items() if value is not None
        }
        accepted = [*tool.required, *tool.optional]
        if unknown := sorted(arguments.keys() - set(accepted)):
            return _tool_error(
                f"Unknown arguments: {', '.join(unknown)}. "
                f"This tool has the arguments {', '.join(accepted)}."
            )
        try:
            response = await self.session_of(context).call(
                "POST", tool.path, arguments, context.session.report_progress
            )
        except NativeError as error:
            return _tool_error(describe_error(error))
        data = _plain(response.data)
        text = types.TextContent(type="text", text=json.dumps(data, ensure_ascii=False))
        return types.CallToolResult(content=[text], structured_content=data)

    async def list_resources(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return no resources: they are too many to list, and named by citations."""
        return types.ListResourcesResult(resources=[])

    async def list_resource_templates(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        templates = [
            types.ResourceTemplate(
                uri_template=template, name=name, description=description, mime_type=JSON
            )
            for template, name, description, *_ in (*RESOURCES, *CITATIONS)
        ]
        return types.ListResourceTemplatesResult(resource_templates=templates)

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a memory, a cited passage or an archived tool result as JSON."""
        uri = str(params.uri)
        path, body = _resolve_resource(uri)
        try:
            response = await self.session_of(context).call("POST", path, body)
        except NativeError as error:
            raise MCPError(types.INVALID_PARAMS, describe_error(error), {"uri": uri}) from error
        text = json.dumps(_plain(response.data), ensure_ascii=False)
        contents = types.TextResourceContents(uri=uri, mime_type=JSON, text=text)
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        arguments = [
            types.PromptArgument(name="question", description="The question.", required=True),
            types.PromptArgument(name="user_id", description="The user who asks."),
            types.PromptArgument(name="run_id", description="The conversation."),
            types.PromptArgument(name="max_tokens", description="Size of the context window."),
        ]
        prompt = types.Prompt(
            name=PROMPT,
            description="A question with what the organisation knows about it, within a budget.",
            arguments=arguments,
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """Assemble the context of a question; requires the scope context:write."""
        arguments = params.arguments or {}
        if params.name != PROMPT or not arguments.get("question"):
            raise MCPError(types.INVALID_PARAMS, f"Use the prompt {PROMPT} with a question.")
        call: dict[str, Any] = {
            "messages": [{"role": "user", "content": arguments["question"]}],
            "user_id": arguments.get("user_id"),
            "run_id": arguments.get("run_id"),
        }
        if window := arguments.get("max_tokens"):
            if not (window.isascii() and window.isdecimal()):
                raise MCPError(types.INVALID_PARAMS, "max_tokens must be a whole number.")
            call |= {"context_window_tokens": int(window), "reserved_output_tokens": 0}
        try:
            response = await self.session_of(context).call(
                "POST", "/v1/context/assemble", {k: v for k, v in call.items() if v is not None}
            )
        except NativeError as error:
            raise MCPError(types.INVALID_PARAMS, describe_error(error)) from error
        return types.GetPromptResult(messages=_prompt_messages(_plain(response.data)))


def describe_error(error: NativeError) -> str:
    """Return the message of a native error, its issues and its code."""
    body = error.response.data
    lines = [f"{body['message']} ({body['error']})"]
    lines += [f"- {each['path']}: {each['message']}" for each in body.get("issues", ())]
    if wait := error.response.headers.get("Retry-After"):
        lines.append(f"Try again in {wait} s.")
    return "\n".join(lines)


def _tool_error(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _plain(data: Any) -> Any:
    """Return the data as JSON types: ids and times as texts."""
    return json.loads(json.dumps(data, cls=JSONEncoder))


def _resolve_resource(uri: str) -> tuple[str, dict[str, Any]]:
    """Return the native path of a resource and the body of the call, which checks the account."""
    for template, _, _, path, argument in RESOURCES:
        prefix = template.partition("{")[0]
        if uri.startswith(prefix):
            with suppress(ValueError):
                return path, {argument: str(UUID(uri.removeprefix(prefix)))}
    if parse_uri(uri):
        return "/v1/memory/get", {"citation": uri}
    if parse_citation_uri(uri):
        return "/v1/knowledge/get", {"uri": uri}
    raise MCPError(types.INVALID_PARAMS, f"There is no resource {uri}.", {"uri": uri})


def _prompt_messages(call: Mapping[str, Any]) -> list[types.PromptMessage]:
    """Return an assembled call as messages; MCP has no system role, so those become the user's."""
    messages = []
    for message in call["messages"]:
        content = message.get("content")
        if not isinstance(content, str) or not content:
            continue
        is_assistant = message["role"] == "assistant"
        text = types.TextContent(type="text", text=content)
        messages.append(
            types.PromptMessage(role="assistant" if is_assistant else "user", content=text)
        )
    return messages
