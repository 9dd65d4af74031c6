"""The page of the evidence gate."""

from django.test import Client

from tests.rules.builders import NO_CURL
from tests.web.pages import page


def test_gate_page_opens_if_a_batch_with_a_text_wrote_the_first_rule(
    agent: Client, admin: Client
) -> None:
    node = {"type": "rule", "title": "No curl", "slots": {"then": NO_CURL}}
    batch = {"input_text": "a talk", "nodes": [node]}
    written = agent.post("/v1/memory/write", batch, content_type="application/json")
    assert written.status_code == 201, written.content
    assert "Evidence gate" in page(admin.get("/rules/gate/"))
