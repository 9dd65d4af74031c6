"""Pages of memories and versions with much metadata are shorter."""

from typing import Any

import pytest

from memory.api import page_byte_limit
from tests.agent import Agent

pytestmark = pytest.mark.django_db
NOTE = "green " * 70
# The largest page in bytes, and the number of rows of each page.
PAGES = [(10_000, [5]), (1_000, [2, 2, 1]), (100, [1, 1, 1, 1, 1])]


@pytest.mark.parametrize(("largest", "numbers"), PAGES)
def test_page_of_memories_is_limited_in_bytes(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, largest: int, numbers: list[int]
) -> None:
    written = [
        agent.store(f"Tea {number}.", user_id="ann", metadata={"note": NOTE}) for number in range(5)
    ]
    monkeypatch.setattr(page_byte_limit, "MAX_PAGE_BYTES", largest)
    pages: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = agent.post("memory/list", {"user_id": "ann", "limit": 200, "cursor": cursor})
        pages.append([each["id"] for each in answer["results"]])
        cursor = answer["next_cursor"]
    assert [len(page) for page in pages] == numbers
    assert [pk for page in pages for pk in page] == written[::-1]


@pytest.mark.parametrize(("largest", "numbers"), [(10_000_000, [3]), (100, [1, 1, 1])])
def test_page_of_versions_is_limited_in_bytes(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, largest: int, numbers: list[int]
) -> None:
    pk = agent.store("Tea.", user_id="ann", metadata={"note": NOTE})
    for number in range(2):
        agent.post("memory/update", {"id": pk, "text": f"Tea {number}."}, 200)
    monkeypatch.setattr(page_byte_limit, "MAX_PAGE_BYTES", largest)
    pages: list[list[dict[str, Any]]] = []
    after: int | None = 0
    while after is not None:
        answer = agent.get(f"memory/{pk}/history", after=after, limit=200)
        pages.append(answer["versions"])
        after = answer["next"]
    assert [len(page) for page in pages] == numbers
    texts = [version["text"] for page in pages for version in page]
    assert texts == ["Tea.", "Tea 0.", "Tea 1."]
    history = agent.client.get(f"/v1/memories/{pk}/history/").json()  # mem0's endpoint
    assert [each["new_memory"] for each in history] == texts
