"""The pages of calls in a browser: readable by everybody, in both languages and themes."""

import os
from pathlib import Path

import pytest

from context.models.archives import Within
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from memory.actions.entries import write
from memory.drafts import Batch, NewEntry
from tests.context.calling import call, fill_calls, talk
from tests.web.browser import Visitor

pytestmark = pytest.mark.browser
TOOL = {
    "type": "function",
    "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}},
}


def test_calls_can_be_read_by_everybody(visitor: Visitor, acme: Account, alice: User) -> None:
    visitor.sign_in(alice)
    assert visitor.inspect("/calls/") == []
    fill_calls(acme, 2)
    with acting(acme):
        draft = NewEntry(text="The kiln is by the pond.", user_id="u")
        write(account_id=acme.pk, actor=SYSTEM, batch=Batch(entries=[draft]))
    within = Within(user_id="u", conversation_id="c")
    call(acme, talk(1), sources=("memory",), within=within, tools=[TOOL], model="small")
    made = call(acme, talk(2), sources=("memory",), within=within, tools=[TOOL], agent_id="desk")
    path = f"/calls/{made.report_id}/"
    assert visitor.inspect("/calls/") == []
    assert visitor.inspect(path) == []
    visitor.go(path)
    visitor.page.keyboard.press("c")
    visitor.page.wait_for_url("**?with=*")
    folder = os.environ.get("SHOTS")
    if folder:
        for theme, language, width in (("light", "en", 1280), ("dark", "zh-hans", 390)):
            visitor.prefers(theme=theme, language=language)
            visitor.page.set_viewport_size({"width": width, "height": 900})
            for name, place in (("list", "/calls/"), ("call", path)):
                visitor.go(place)
                shot = Path(folder) / f"{name}-{width}.png"
                visitor.page.screenshot(path=shot, full_page=True)
