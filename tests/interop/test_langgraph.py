"""The store endpoints of LangGraph, with its SDK and with its published tests."""

from tests.interop.conftest import Run


def test_sdk(run_client: Run) -> None:
    seen = run_client("langgraph_client.py")
    assert seen["missing"] is None
    assert seen["got"]["value"] == {"text": "Ann is allergic to peanuts.", "level": 3}
    assert seen["got"]["namespace"] == ["users", "ann"]
    assert seen["replaced"]["value"] == {"text": "Ann may eat nuts again."}
    assert seen["deleted"] is None
    assert seen["created_again"]["value"] == {"text": "Third."}
    assert seen["search"] == ["peanuts", "tea"]
    assert seen["filtered"] == ["tea"]
    assert seen["compared"] == ["peanuts"]
    assert seen["page"] == 1
    assert seen["namespaces"] == [["users", "ann"], ["users", "bob"]]
    assert seen["depth"] == [["users"]]
    assert seen["suffix"] == [["users", "bob"]]
    assert seen["not_indexed"] == []
    assert seen["expiring"] == {"text": "Soon gone."}
    assert seen["bad"] == 400


def test_published_integration_tests(run_suite: Run) -> None:
    """tests/integration/test_store.py of langgraph-sdk's source distribution."""
    assert "4 passed" in run_suite("langgraph-sdk")
