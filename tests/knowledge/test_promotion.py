"""Documents written from memories and topics, and the links back to them."""

from django.test import Client

from kmapp.accounts.models import Account
from knowledge.models import KnowledgeDocument, KnowledgeDraft
from tests import makers
from tests.memory.test_topic_actions import topic
from tests.web.pages import page


def test_a_memory_becomes_a_document_that_links_back(
    reviewer: Client, acme: Account, rival: Account
) -> None:
    [memory] = makers.write(acme, "Oolong takes 95 degrees.", title="Oolong", user_id="mira")
    [foreign_entry] = makers.write(rival, "A secret.")
    write = "/knowledge/write/"
    assert f"{write}?from=memory:{memory.pk}" in page(reviewer.get(f"/memory/{memory.pk}/"))
    displayed = page(reviewer.get(write, {"from": f"memory:{memory.pk}"}))
    assert 'value="Oolong"' in displayed
    assert "This memory is not visible to everyone" in displayed
    text = f"Oolong takes 95 degrees.\n\nSource: [[memory:{memory.pk}]]"
    assert text in displayed
    assert "A secret" not in page(reviewer.get(write, {"from": f"memory:{foreign_entry.pk}"}))
    assert page(reviewer.get(write, {"from": "memory:none"}))
    new = {"title": "Oolong", "source": "Handbook", "text": text, "version": 0}
    assert reviewer.post(write, new).status_code == 302
    document = makers.get(KnowledgeDocument, acme)
    links = page(reviewer.get(f"/usage/{memory.pk}/"))
    assert f'href="/knowledge/documents/{document.pk}/"' in links
    assert "no document links to it" in page(reviewer.get(f"/usage/{foreign_entry.pk}/"))
    reviewer.post(write, {**new, "do": "draft", "text": "Half a thought"})
    again = reviewer.get(write, {"from": f"memory:{memory.pk}"})  # a draft is not replaced
    assert again.headers["Location"] == write
    assert makers.get(KnowledgeDraft, acme).text == "Half a thought"


def test_a_topic_becomes_a_list_of_its_memories(reviewer: Client, acme: Account) -> None:
    row = topic(acme, "Tea", members=2)
    displayed = page(reviewer.get("/knowledge/write/", {"from": f"memory:{row.pk}"}))
    assert displayed.count("|Memory]])") == 2
    assert displayed.count("[[memory:") == 4  # two memories, the topic, and the help text
