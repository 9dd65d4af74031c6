"""The text of a document that is delivered again in another format."""

from kmapp.accounts.models import Account
from knowledge.models import KnowledgeText
from tests import makers
from tests.agent import Agent

TEXT = "# Keys\n\nThe spare key is in the blue box."


def test_text_of_another_shape_is_a_new_version(acme: Account, agent: Agent) -> None:
    """Verification on read expects the headings and pages of the shape that the text states."""
    source = {"name": "docs"}
    for mime in ("text/plain", "text/markdown"):
        document = {"ref": "keys", "text": TEXT, "mime": mime}
        agent.post("knowledge/ingest", {"source": source, "documents": [document]})
        agent.post("knowledge/ingest", {"source": source, "documents": [], "remove": ["keys"]})
    texts = makers.rows(KnowledgeText, acme)
    assert {text.version: text.shape for text in texts} == {1: "plain", 2: "markdown"}
