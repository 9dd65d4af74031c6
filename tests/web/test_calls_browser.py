"""Call pages are accessible in both languages and themes."""

from datetime import timedelta

import pytest
from django.utils import timezone

from context.actions.comparisons import ComparisonRequest, run_comparison, start_comparison
from context.actions.record_call import record_outcome
from context.actions.replays import NO_CHANGES, Changes
from context.actions.settings import change_settings
from context.assembly.prompt_inputs import Section
from context.models import ContextCostReport
from context.models.archives import ArchiveScope
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from tests import makers
from tests.context.builders import call, fill_calls, set_prices, talk, tool
from tests.web.browser import Visitor

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("module_commits")]
TOOL = {
    "type": "function",
    "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}},
}


def test_call_pages_are_accessible(visitor: Visitor, acme: Account, alice: User) -> None:
    visitor.sign_in(alice)
    assert visitor.inspect("/calls/") == []
    fill_calls(acme, 2)
    makers.write(acme, "The kiln is by the pond.", user_id="u")
    within = ArchiveScope(user_id="u", conversation_id="c")
    call(acme, talk(1), sources=("memory",), within=within, tools=[TOOL], model="small")
    new = call(acme, talk(2), sources=("memory",), within=within, tools=[TOOL], agent_id="desk")
    path = f"/calls/{new.report_id}/"
    assert visitor.inspect("/calls/") == []
    assert visitor.inspect(path) == []
    visitor.go(path)
    visitor.page.keyboard.press("c")
    visitor.page.wait_for_url("**?with=*")
    visitor.shoot(calls="/calls/", call=path)


def test_pages_about_many_calls_are_accessible(visitor: Visitor, acme: Account, ada: User) -> None:
    visitor.sign_in(ada)
    errors = []
    for path in ("costs/", "comparisons/", "variants/"):  # without calls
        errors += visitor.inspect(f"/calls/{path}")
    visitor.shoot(costs_empty="/calls/costs/")
    fill_days(acme)
    right = Changes(policy={"head": 200, "tail": 0}, window=2_500, reserve=100)
    with acting(acme):
        new = start_comparison(
            acme.pk, SYSTEM, ComparisonRequest(left=NO_CHANGES, right=right, calls=100)
        )
    errors += visitor.inspect(f"/calls/comparisons/{new.pk}/")
    run_comparison(acme.pk, new.pk)
    with acting(acme):
        change_settings(acme.pk, {"variants": {"v1": 60, "v3": 40}}, actor=SYSTEM, reason="Try.")
        for at, row in enumerate(ContextCostReport.objects.of(acme)):
            result = {"success": at % 5 > 0, "latency_ms": 700 + 31 * at}
            record_outcome(acme.pk, row.pk, result)
    pages = {
        "costs": "costs/?by=section",
        "costs_of_agents": "costs/?by=agent",
        "costs_of_tools": "costs/?by=tool",
        "comparison": f"comparisons/{new.pk}/",
        "comparisons": "comparisons/",
        "compare": "comparisons/new/",
        "variants": "variants/",
        "settings": "settings/",
    }
    for path in pages.values():
        errors += visitor.inspect(f"/calls/{path}")
    assert errors == []
    visitor.shoot(**{name: f"/calls/{path}" for name, path in pages.items()})


def fill_days(account: Account) -> None:
    """Create calls of many agents during some weeks, with a tool that is never called."""
    set_prices(account, small={"input": 2, "cached": 0.5, "output": 8})
    tools = [tool("search_manual"), tool("book_room", words=400)]
    for ago in range(24):
        for number in range(1 + ago * 7 % 4):
            new = call(
                account,
                talk(1 + (ago + number) % 5),
                agent_id=f"agent-{(ago + number) % 11}",
                model="small" if number % 3 else "large",
                tools=tools if number % 2 else tools[1:],
                within=ArchiveScope(conversation_id=f"c{ago % 3}"),
                sections=[Section(name="manners", text=f"Be kind on day {ago}. " * 40)],
            )
            with acting(account):
                rows = ContextCostReport.objects.of(account).filter(pk=new.report_id)
                rows.update(created_at=timezone.now() - timedelta(days=ago))
