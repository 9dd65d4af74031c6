"""Every operation of mem0's Python client that kmapp offers; prints what each returned."""

import asyncio
import json
import sys
import time

from mem0 import AsyncMemoryClient, MemoryClient
from mem0.exceptions import MemoryError as Mem0Error

url, key = sys.argv[1:3]
client = MemoryClient(api_key=key, host=url)
ann = {"filters": {"user_id": "ann"}}
seen: dict[str, object] = {"org_id": client.org_id, "project_id": client.project_id}


def refused(call, *args, **kwargs):
    """Return the class of the exception of a call, and its message."""
    try:
        call(*args, **kwargs)
    except Mem0Error as error:
        return [type(error).__name__, str(error)]
    return None


seen["add"] = client.add("I am allergic to peanuts.", user_id="ann", infer=False)
conversation = [
    {"role": "user", "content": "My sister Mia moved to Lisbon."},
    {"role": "assistant", "content": "Noted."},
]
seen["add_conversation"] = client.add(
    conversation, user_id="ann", run_id="r1", metadata={"topic": "family"}, infer=False
)
seen["add_inferred"] = client.add("I play the cello.", user_id="ann")
seen["expiring"] = client.add(
    "Ann visits Oslo.", user_id="eve", infer=False, expiration_date="2099-12-30"
)
expiring_id = seen["expiring"]["results"][0]["id"]
seen["expires"] = [client.get(expiring_id)["expiration_date"]]
for changes in ({"expiration_date": "2099-12-31"}, {"text": "Ann visits Bergen."}):
    seen["expires"].append(client.update(expiring_id, **changes)["expiration_date"])
seen["expires"].append(client.update(expiring_id, expiration_date=None)["expiration_date"])
client.delete(expiring_id)
client.add("The planner prefers short trips.", agent_id="planner", infer=False)
client.add("Bob likes tea.", user_id="bob", infer=False, timestamp=1700000000)
memory_id = seen["add"]["results"][0]["id"]

seen["search"] = client.search("peanuts", **ann)
seen["search_either"] = client.search(
    "peanuts planner trips", filters={"OR": [{"user_id": "ann"}, {"agent_id": "planner"}]}, top_k=50
)
seen["get_all"] = client.get_all(**ann, page=1, page_size=2)
seen["get_all_everyone"] = client.get_all(filters={"user_id": "*"})
seen["get"] = client.get(memory_id)
seen["update"] = client.update(
    memory_id, text="I am allergic to nuts.", metadata={"kind": "health"}
)
seen["history"] = client.history(memory_id)
seen["users"] = client.users()
seen["feedback"] = client.feedback(memory_id, feedback="POSITIVE", feedback_reason="It helped.")
seen["event"] = client.client.get(f"/v1/event/{seen['add_inferred']['event_id']}/").json()
seen["export"] = client.create_memory_export(schema="{}", filters={"AND": [{"user_id": "bob"}]})
seen["exported"] = client.get_memory_export(memory_export_id=seen["export"]["id"])
seen["dated"] = [
    len(client.get_all(**ann, **dates)["results"])
    for dates in ({"start_date": "2020-01-01"}, {"end_date": "2020-01-01"}, {"categories": ["x"]})
]
client.add("Tea is fine.", user_id="tom", infer=False)
tea = client.get_all(filters={"user_id": "tom"})["results"][0]
client.client.post("/v1/memory/update", json={"id": tea["id"], "tags": ["drinks"]})
seen["category"] = [
    len(client.search("tea", filters={"user_id": "tom"}, categories=[each])["results"])
    for each in ("drinks", "x")
]
client.delete(tea["id"])
seen["project"] = client.project.get()
client.project.update(custom_instructions="Remember the names of pets.")
seen["project_updated"] = client.project.get(["custom_instructions"])
hook = client.create_webhook(
    url="https://hooks.test/in",
    name="Log",
    project_id=client.project_id,
    event_types=["memory_add", "memory_categorize"],
)
seen["webhook"] = hook
client.update_webhook(hook["webhook_id"], name="Logger", event_types=["memory_delete"])
seen["webhooks"] = client.get_webhooks(client.project_id)
seen["webhook_deleted"] = client.delete_webhook(hook["webhook_id"])
seen["webhooks_after"] = client.get_webhooks(client.project_id)
seen["batch_update"] = client.batch_update([{"memory_id": memory_id, "text": "No nuts."}])
seen["after_batch"] = client.get(memory_id)
seen["delete"] = client.delete(memory_id)
seen["get_deleted"] = refused(client.get, memory_id)
seen["exported_deleted"] = client.get_memory_export(filters={"user_id": "ann"})["memories"]
seen["after_delete"] = client.search("nuts", **ann)
seen["refusals"] = {
    "get": refused(client.get, "0190a7a0-0000-7000-8000-000000000000"),
    "get_bad_id": refused(client.get, "x/../y"),
    "add_without_owner": refused(client.add, "Whose is this?"),
    "search_without_owner": refused(client.search, "x", filters={"categories": "a"}),
    "unknown_filter": refused(client.search, "x", filters={"user_id": "a", "colour": "red"}),
    "summary": refused(client.get_summary, {"user_id": "ann"}),
    "webhooks": refused(client.get_webhooks, "1"),
}
seen["delete_all"] = client.delete_all(user_id="bob")
seen["delete_users"] = client.delete_users(user_id="ann")
deadline = time.monotonic() + 120
while client.get_all(**ann)["results"] and time.monotonic() < deadline:
    time.sleep(0.2)
seen["get_all_after"] = [client.get_all(filters={"user_id": name}) for name in ("ann", "bob")]


async def use_async_client():
    async with AsyncMemoryClient(api_key=key, host=url) as other:
        await other.add("Zoe rides a bicycle.", user_id="zoe", infer=False)
        results = await other.search("bicycle", filters={"user_id": "zoe"})
        list_results = await other.get_all(filters={"user_id": "zoe"})
        await other.delete(results["results"][0]["id"])
        return [results, list_results, await other.get_all(filters={"user_id": "zoe"})]


seen["async"] = asyncio.run(use_async_client())
print(json.dumps(seen))
