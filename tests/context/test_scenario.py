"""Ten long tool results: what placeholders save, and that what was planted is found again."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from context.benchmarks import placeholder_scenario
from context.benchmarks.placeholder_scenario import render_table, run_scenario
from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent
from tests.web.browser import served


@pytest.mark.django_db
def test_the_conversation_costs_a_fraction(agent: Agent, acme: Account) -> None:
    def ask(method: str, path: str, said: Any) -> Any:
        return agent.post(path, said) if method == "POST" else agent.get(path, **said)

    whole, placeholders, loads, passages = run_scenario(ask, "c-1")
    told = render_table([whole, placeholders, loads, passages])
    assert f"{placeholders.total:,}" in told
    assert all(len(placeholder_scenario.build_manual("x", at)) == 50_000 for at in range(2))
    assert 1 - placeholders.total / whole.total >= 0.80
    assert 1 - loads.total / whole.total >= 0.64
    assert loads.fact_hits == 9
    assert 1 - passages.total / whole.total >= 0.78
    assert passages.fact_hits == 9
    # Each turn reads its own result whole, once: nothing can save more than that.
    assert placeholders.total > 10 * whole.tokens[0] * 0.99


@pytest.mark.usefixtures("committed", "provider")
def test_the_script_runs_it_against_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placeholder_scenario, "TURNS", 2)
    monkeypatch.setattr(placeholder_scenario, "RESULT_LENGTH", 12_000)
    secret, out = makers.key(makers.account("Acme"))[1], StringIO()
    monkeypatch.setattr("context.management.commands.context_scenario.render_table", repr)
    with served() as url:
        call_command("context_scenario", "--url", url, "--key", secret, stdout=out)
        with pytest.raises(CommandError, match="401"):
            call_command("context_scenario", "--url", url, "--key", "none", stdout=out)
    assert "name='accumulated'" in out.getvalue()
    assert "fact_hits=1" in out.getvalue()
