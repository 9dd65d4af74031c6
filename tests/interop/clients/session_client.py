"""The session for the OpenAI Agents SDK; prints what each operation returned."""

import asyncio
import json
import sys

from agents.memory import Session, SessionSettings
from kmapp_client import ConnectionFailed, KmappError
from kmapp_openai_agents import KmappSession

url, key = sys.argv[1:3]


def lose_response_of_writes(send):
    async def lose(method, path, body=None):
        response = await send(method, path, body)
        if path.endswith("/write"):
            raise ConnectionFailed("The connection was lost.")
        return response

    return lose


async def main() -> None:
    session = KmappSession("talk", url, key)
    other = KmappSession("other", url, key, session_settings=SessionSettings(limit=1))
    call = {"type": "function_call", "call_id": "1", "name": "tea", "arguments": "{}"}
    items = [{"role": "user", "content": f"Message {number}."} for number in range(3)]
    seen = {"is_session": isinstance(session, Session), "empty": await session.get_items()}
    await session.add_items(items)
    await session.add_items([call])
    await other.add_items(
        [{"role": "user", "content": [{"type": "input_text", "text": "Hi."}]}] * 2
    )
    seen["all"] = await session.get_items() == [*items, call]
    seen["latest"] = await session.get_items(limit=2) == [items[2], call]
    seen["limited"] = len(await other.get_items())
    seen["popped"] = await session.pop_item() == call
    await session.clear_session()
    seen["cleared"] = [await session.get_items(), await session.pop_item()]
    seen["other"] = len(await other.get_items(limit=10))
    await session.add_items(items)
    output = {"type": "function_call_output", "call_id": "1", "output": "Tea. " * 12_000}
    await session.add_items([output])
    seen["long"] = await session.get_items(limit=1) == [output]
    seen["again"] = len(await session.get_items())
    many = KmappSession("many", url, key)
    long = [{"role": "user", "content": f"Message {number}."} for number in range(501)]
    await many.add_items(long)
    seen["many"] = await many.get_items() == long
    turns = [
        [{**call, "call_id": name}, {**output, "call_id": name, "output": "Tea."}] for name in "abc"
    ]
    await asyncio.gather(*(many.add_items(turn) for turn in turns))
    added = (await many.get_items())[len(long) :]
    pairs = [added[start : start + 2] for start in range(0, len(added), 2)]
    seen["pairs"] = sorted(pairs, key=lambda pair: pair[0]["call_id"]) == turns
    await many.add_items([call])
    seen["last"] = (await many.get_items())[-1] == call
    rejected = [items[0], {"role": "user", "content": "x" * 3_000_000}]
    try:
        await many.add_items(rejected)
    except KmappError as error:
        seen["rejected"] = error.status
    seen["undone"] = (await many.get_items())[-1] == call
    lost = KmappSession("lost", url, key)
    client = lost._client  # noqa: SLF001
    client.request = lose_response_of_writes(client.request)
    try:
        await lost.add_items(items)
    except KmappError as error:
        seen["lost"] = [type(error).__name__, await lost.get_items()]
    await lost.close()
    await many.close()
    await session.close()
    await other.close()
    print(json.dumps(seen))


asyncio.run(main())
