"""The page of settings of calls, and the page that compares variants."""

from typing import Any

import pytest
from django.test import Client

from context.actions.record_call import record_outcome
from context.models import ContextSettings
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.ledger.models import Commit
from tests import makers
from tests.context.calling import call, talk
from tests.web.pages import page

pytestmark = pytest.mark.usefixtures("tokenizer")


def kept(account: Account) -> ContextSettings:
    with acting(account):
        return ContextSettings.objects.get_or_default(account.pk)


def saved(admin: Client, section: str, version: int, **said: Any) -> Any:
    form = {"section": section, "version": str(version), "reason": "Because.", **said}
    return admin.post("/calls/settings/set/", form)


def test_every_section_can_be_saved(admin: Client, acme: Account) -> None:
    policy = {"protected_turns": "4", "prune": "none", "compact": "no", "min_score": "0.5"}
    assert saved(admin, "policy", 0, **policy).status_code == 302
    assert saved(admin, "inputs", 1, inputs_days="7").status_code == 302
    assert saved(admin, "prices", 2, prices="small 0.25 2 0.025\nlarge 3\n").status_code == 302
    assert saved(admin, "variants", 3, v1="60", v2="40").status_code == 302
    row = kept(acme)
    assert row.policy == {"protected_turns": 4, "prune": [], "compact": False, "min_score": 0.5}
    assert row.inputs_days == 7
    assert row.prices == {
        "small": {"input": 0.25, "output": 2, "cached": 0.025},
        "large": {"input": 3},
    }
    assert row.variants == {"v1": 60, "v2": 40}
    said = page(admin.get("/calls/settings/"))
    for shown in ("small 0.25 2 0.025", 'value="60"', 'value="4"', "Because."):
        assert shown in said
    for changed in ("v1 60 %, v2 40 %", "large 3; small 0.25 2 0.025", "Old tool results:"):
        assert changed in said
    assert makers.count(Commit, acme) >= 4
    assert saved(admin, "policy", 4).status_code == 302
    assert kept(acme).policy == {}


def test_invalid_settings_are_rejected(admin: Client, acme: Account) -> None:
    for section, said in (
        ("policy", {"protected_turns": "0"}),
        ("inputs", {"inputs_days": "0"}),
        ("prices", {"prices": "small cheap"}),
        ("prices", {"prices": "small -1"}),
        ("variants", {"v1": "60"}),
    ):
        assert "field-error" in page(saved(admin, section, 0, **said), 422)
    assert saved(admin, "weather", 0).status_code == 400
    assert saved(admin, "inputs", 3, inputs_days="7").status_code == 409
    assert kept(acme).version == 0


def test_reviewer_cannot_change_settings(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert "You can view these settings" in page(client.get("/calls/settings/"))
    assert saved(client, "inputs", 0, inputs_days="7").status_code == 403


def test_variants_are_compared(admin: Client, acme: Account) -> None:

    assert "Variants split and rank documents" in page(admin.get("/calls/variants/"))
    made = call(acme, talk(1))
    assert "No outcomes reported yet" in page(admin.get("/calls/variants/"))
    with acting(acme):
        record_outcome(acme.pk, made.report_id, {"success": True, "latency_ms": 1_234})
    said = page(admin.get("/calls/variants/"))
    assert "1 of 1" in said
    assert "1,234" in said
    assert "Nothing matches" in page(admin.get("/calls/variants/", {"agent_id": "x"}))
