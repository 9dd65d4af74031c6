"""Benchmarks of calls, and the scenario of ten long tool results."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from context.benchmarks import fixtures, placeholder_scenario
from context.benchmarks.placeholder_scenario import render_table, run_scenario
from kmapp.accounts.models import Account
from tests import makers
from tests.agent import Agent
from tests.web.browser import served


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("assemble", "--number", "2"), "all but retrieval"),
        (("replay", "--calls", "2"), "2 calls replayed twice"),
        (("pages", "--calls", "40", "--number", "1"), "costs by tool"),
    ],
)
def test_benchmarks_print_results_and_clean_up(arguments: tuple[str, ...], expected: str) -> None:
    before = Account.objects.count()
    assert expected in makers.run_command("context_perf", *arguments)
    assert Account.objects.count() == before


@pytest.mark.django_db
def test_benchmark_conversation_has_the_stated_size() -> None:
    messages = fixtures.conversation()
    assert len(messages) == 200
    assert fixtures.count_tokens(messages) == pytest.approx(100_000, rel=0.02)
    assert len(fixtures.tools()) == 60


def test_placeholders_save_most_tokens(agent: Agent, acme: Account) -> None:
    def ask(method: str, path: str, body: Any) -> Any:
        return agent.post(path, body) if method == "POST" else agent.get(path, **body)

    whole, placeholders, loads, passages = run_scenario(ask, "c-1")
    table = render_table([whole, placeholders, loads, passages])
    assert f"{placeholders.total:,}" in table
    assert all(len(placeholder_scenario.build_manual("x", at)) == 50_000 for at in range(2))
    assert 1 - placeholders.total / whole.total >= 0.80
    assert 1 - loads.total / whole.total >= 0.64
    assert loads.fact_hits == 9
    assert 1 - passages.total / whole.total >= 0.78
    assert passages.fact_hits == 9
    # Each turn reads its own result whole once; no more can be saved.
    assert placeholders.total > 10 * whole.tokens[0] * 0.99


@pytest.mark.usefixtures("committed", "provider")
def test_scenario_command_uses_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
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
