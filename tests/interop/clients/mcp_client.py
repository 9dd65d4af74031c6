"""A session of the MCP SDK's client, over HTTP or stdio; prints what each call returned."""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

url, key, *rest = sys.argv[1:]


async def use(client):
    tools = (await client.list_tools()).tools
    seen = {"called": [], "errors": {}}
    seen["tools"] = {tool.name: tool.model_dump(by_alias=True, mode="json") for tool in tools}

    async def call(tool, **arguments):
        """Call a tool; the client checks the result against the schema of the tool."""
        seen["called"].append(tool)
        return (await client.call_tool(tool, arguments)).structured_content

    stored = await call("memory_store", text="Ann is allergic to peanuts.", user_id="ann")
    memory_id = stored["id"]
    results = await call("memory_search", query="peanuts", user_id="ann")
    seen["found"] = [hit["text"] for hit in results["results"]]
    seen["got"] = (await call("memory_get", id=memory_id))["text"]
    read = await client.read_resource(f"km://memory/{memory_id}")
    seen["read"] = json.loads(read.contents[0].text)["text"]
    seen["templates"] = [
        each.uri_template for each in (await client.list_resource_templates()).resource_templates
    ]
    seen["prompts"] = [each.name for each in (await client.list_prompts()).prompts]
    prompt = await client.get_prompt(
        "assemble_context", {"question": "What may Ann not eat?", "user_id": "ann"}
    )
    seen["prompt"] = [message.content.text for message in prompt.messages]
    page = {"tool_name": "crawl", "result": "A long page. " * 2000, "conversation_id": "c1"}
    archived = await call("archive_tool_result", **page)
    seen["archived"] = archived["archived"]
    seen["loaded"] = bool(await call("load_tool_history", uuid=archived["archive"]["uuid"]))
    updated = await call("memory_update", id=memory_id, text="Ann may eat no nuts at all.")
    seen["updated"] = updated["text"]
    seen["injected"] = (await call("memory_inject", query="nuts", user_id="ann"))["text"]
    seen["knowledge"] = (await call("knowledge_search", query="tea"))["results"]
    seen["rules"] = (await call("rules_evaluate", context={"intent": "json"}))["matched"]
    candidates = ["bash", "search"]
    selected = await call("tools_select", context={"intent": "json"}, candidates=candidates)
    seen["selected"] = selected["selection"]["allowed"]
    seen["forgotten"] = (await call("memory_forget", id=memory_id))["status"]
    errors = {
        "bad_argument": ("memory_search", {"query": "x", "colour": "red"}),
        "missing": ("memory_get", {"id": "0190a7a0-0000-7000-8000-000000000000"}),
        "blank": ("memory_store", {"text": ""}),
    }
    for name, (tool, arguments) in errors.items():
        result = await client.call_tool(tool, arguments)
        seen["errors"][name] = [result.is_error, result.content[0].text]
    try:
        await client.read_resource("km://memory/nothing")
    except MCPError as error:
        seen["errors"]["resource"] = [True, error.message]
    return seen


async def main():
    if rest[:1] == ["stdio"]:
        command, *arguments = rest[1:]
        environment = {**os.environ, "KMAPP_API_KEY": key}
        server = StdioServerParameters(command=command, args=arguments, env=environment)
        transport = stdio_client(server)
    else:
        headers = {"Authorization": f"Bearer {key}"}
        transport = streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers))
    async with Client(transport) as client:
        print(json.dumps(await use(client)))


asyncio.run(main())
