"""Sources and lore that someone changed in the database are not sealed again."""

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Conflict
from knowledge.actions.lore import add_entries, change_entry
from knowledge.actions.sources import NewSource, ensure_source
from tests import makers
from tests.kernel.fsck.tampering import Intruder
from tests.sealed_reads import edited

pytestmark = pytest.mark.usefixtures("module_commits")


def test_change_of_a_changed_source_is_refused(acme: Account, intruder: Intruder) -> None:
    makers.set_policy(acme, {"verify_on_read": True})
    agent = makers.agent(acme, ["knowledge:read", "knowledge:write"])
    source = agent.post("knowledge/sources", {"name": "docs"}, 201)
    change = {"name": "docs", "revision": "2"}
    delivery = {"source": change, "documents": [{"ref": "a.md", "text": "# A\n\nText."}]}
    for edit in ("kind = 'upload'", "created_by = 'system'"):
        with edited(intruder, "knowledge_knowledgesource", source["id"], edit):
            for path, body in (("sources", change), ("ingest", delivery)):
                refused = agent.post(f"knowledge/{path}", body, 409)
                assert (refused["error"], refused["withheld"]) == ("withheld", 1), edit
    assert agent.post("knowledge/ingest", delivery, 201)["source"]["revision"] == "2"


def test_change_of_changed_lore_is_refused(acme: Account, intruder: Intruder) -> None:
    makers.set_policy(acme, {"verify_on_read": True})
    with acting(acme):
        book = ensure_source(acme.pk, SYSTEM, NewSource(name="lore", kind="lorebook"))
        [entry] = add_entries(book, SYSTEM, [{"content": "Lore.", "keys": ["tea"]}])
    values = {"priority": 3}
    with (
        edited(intruder, "knowledge_lorebookentry", entry.pk, "content = 'Sold.'"),
        acting(acme),
        pytest.raises(Conflict, match="erase the entry") as refused,
    ):
        change_entry(acme.pk, entry.pk, SYSTEM, values, version=1)
    assert refused.value.code == "withheld"
    with acting(acme):
        assert change_entry(acme.pk, entry.pk, SYSTEM, values, version=1).content == "Lore."
