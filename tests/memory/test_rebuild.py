"""What is derived can be lost and made anew."""

from django.core.management import call_command

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.models import TermPosting, Vector
from memory.models import MemoryEdge
from tests import makers
from tests.agent import Agent


def test_terms_vectors_and_order_are_rebuilt(agent: Agent, acme: Account) -> None:
    nodes = [{"text": text, "user_id": "u", "run_id": "r"} for text in ("Tea at nine.", "And ten.")]
    agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    with acting(acme):
        for derived in (TermPosting, Vector, MemoryEdge):
            derived.objects.of(acme).delete()
    assert agent.post("memory/search", {"query": "tea", "user_id": "u"})["results"] == []
    call_command("memories", "rebuild", "--account", acme.slug)
    makers.settle()
    [hit, *_] = agent.post("memory/search", {"query": "tea", "user_id": "u"})["results"]
    assert (hit["text"], hit["embedding_status"]) == ("Tea at nine.", "READY")
    assert makers.count(MemoryEdge, acme, type="next") == 1
