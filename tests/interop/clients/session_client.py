"""The session for the OpenAI Agents SDK; prints what each operation returned."""

import asyncio
import json
import sys

from agents.memory import Session, SessionSettings
from kmapp_openai_agents import KmappSession

url, key = sys.argv[1:3]


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
    await session.close()
    await other.close()
    print(json.dumps(seen))


asyncio.run(main())
