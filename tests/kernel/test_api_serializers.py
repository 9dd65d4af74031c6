"""Other clients' words for our fields."""

from typing import Any

import pytest
from django.http import QueryDict

from tests.kernel.api_views import NoteInput


def _read(data: Any) -> dict[str, Any]:
    serializer = NoteInput(data=data)
    serializer.is_valid(raise_exception=True)
    return dict(serializer.validated_data)


@pytest.mark.parametrize("word", ["text", "content", "text_summary"])
@pytest.mark.parametrize("run", ["run_id", "session_id", "conversation_id"])
@pytest.mark.parametrize("facts", ["metadata", "slots"])
def test_aliases_are_equivalent(word: str, run: str, facts: str) -> None:
    read = _read({word: "a", run: "r", facts: {"b": 1}})
    assert read == {"text": "a", "run_id": "r", "metadata": {"b": 1}}


def test_canonical_field_overrides_its_alias() -> None:
    assert _read({"content": "theirs", "text": "ours"})["text"] == "ours"
    assert _read({"content": "theirs", "text": None})["text"] == "theirs"


def test_aliases_work_in_nested_lists() -> None:
    read = _read({"text": "a", "parts": [{"content": "b", "type": "event"}]})
    assert read["parts"] == [{"text": "b", "kind": "event"}]


def test_aliases_work_in_query_strings() -> None:
    assert _read(QueryDict("content=a&session_id=r")) == {"text": "a", "run_id": "r"}


def test_unknown_fields_are_dropped() -> None:
    assert _read({"text": "a", "embedding": [1], "type": "fact"}) == {"text": "a"}
