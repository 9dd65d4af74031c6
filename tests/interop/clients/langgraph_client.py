"""The store client of langgraph-sdk; prints what each operation returned."""

import json
import sys

import httpx
from langgraph_sdk import get_sync_client

url, key = sys.argv[1:3]
store = get_sync_client(url=url, api_key=key).store
ann, bob = ["users", "ann"], ["users", "bob"]
seen = {"missing": store.get_item(ann, key="diet")}


def keys(answer):
    return sorted(item["key"] for item in answer["items"])


store.put_item(ann, key="diet", value={"text": "Ann is allergic to peanuts.", "level": 3})
seen["got"] = store.get_item(ann, key="diet")
store.put_item(ann, key="diet", value={"text": "Ann may eat nuts again."})
seen["replaced"] = store.get_item(ann, key="diet")
store.delete_item(ann, key="diet")
seen["deleted"] = store.get_item(ann, key="diet")
store.put_item(ann, key="diet", value={"text": "Third."})
seen["created_again"] = store.get_item(ann, key="diet")
store.delete_item(ann, key="diet")

store.put_item(ann, key="peanuts", value={"text": "No peanuts for Ann.", "level": 3})
store.put_item(bob, key="tea", value={"text": "Bob drinks tea.", "level": 1})
seen["search"] = keys(store.search_items(["users"], query="peanuts or tea"))
seen["filtered"] = keys(store.search_items(["users"], filter={"level": 1}))
seen["compared"] = keys(store.search_items(["users"], filter={"level": {"$gte": 2}}))
seen["page"] = len(store.search_items(["users"], limit=1, offset=1)["items"])
seen["namespaces"] = store.list_namespaces(prefix=["users"])["namespaces"]
seen["depth"] = store.list_namespaces(max_depth=1)["namespaces"]
seen["suffix"] = store.list_namespaces(suffix=["bob"])["namespaces"]
store.put_item(["quiet"], key="a", value={"text": "Zebra crossing."}, index=False)
seen["not_indexed"] = keys(store.search_items(["quiet"], query="zebra"))
store.put_item(["quiet"], key="b", value={"text": "Soon gone."}, ttl=60)
seen["expiring"] = store.get_item(["quiet"], key="b")["value"]
bad = {"namespace": [], "key": 5, "value": 1}
seen["bad"] = httpx.put(f"{url}/store/items", json=bad, headers={"x-api-key": key}).status_code
print(json.dumps(seen))
