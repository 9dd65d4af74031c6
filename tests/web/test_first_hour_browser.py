"""A newcomer with a month of demo data reaches each goal in at most five interactions."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from django.core.management import call_command
from django.test import Client
from playwright.sync_api import Page, expect

from kmapp.accounts.models import Account
from tests import makers
from tests.makers import PASSWORD
from tests.web.browser import Visitor
from tests.web.totp import add_app, code_of, freeze

pytestmark = pytest.mark.browser
MAX_INTERACTIONS = 5


@dataclass
class Hands:
    """The newcomer's mouse and keyboard: each click, and each text typed, is one interaction."""

    page: Page
    interactions: int = 0

    @contextmanager
    def reaching(self, goal: str) -> Iterator[None]:
        self.interactions = 0
        yield
        assert self.interactions <= MAX_INTERACTIONS, goal

    def click(self, role: str, name: str) -> None:
        self.interactions += 1
        self.page.get_by_role(role, name=name).first.click()  # type: ignore[arg-type]

    def fill(self, selector: str, text: str) -> None:
        self.interactions += 1
        self.page.fill(selector, text)

    def press(self, key: str) -> None:
        self.interactions += 1
        self.page.keyboard.press(key)

    def find(self, words: str, hit: str) -> None:
        """Open a result of the search over everything."""
        self.press("Control+k")
        self.fill("[role=combobox]", words)
        self.interactions += 1
        self.page.locator("[role=option]", has_text=hit).first.click()


@pytest.fixture
def secret(acme: Account, site: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Create an account with demo data; return the secret of the authenticator app of its admin."""
    freeze(monkeypatch)
    makers.member(acme, "ada", role="admin")
    signed_in = Client()
    signed_in.post("/sign-in/", {"username": "ada", "password": PASSWORD})
    secret, _codes = add_app(signed_in)
    call_command("demo", stdout=io.StringIO())
    makers.settle()
    ask = {"role": "user", "content": "How is the walnut cake baked in the Harrowgate room?"}
    call = {"messages": [ask], "sources": ["knowledge"], "conversation_id": "cake"}
    makers.agent(acme).post("context/assemble", call, 201)
    return secret


def test_first_hour(visitor: Visitor, secret: str) -> None:
    page, hands = visitor.page, Hands(visitor.page)
    visitor.go("/sign-in/")
    with hands.reaching("sign in with a code"):
        hands.fill("#id_username", "ada")
        hands.fill("#id_password", PASSWORD)
        hands.click("button", "Sign in")
        hands.fill("#id_code", code_of(secret))
        hands.click("button", "Continue")
        expect(page.locator("h1")).to_have_text("Home")
    with hands.reaching("find a document by a phrase"):
        hands.find('"walnut cake is baked apart"', "The Harrowgate room")
        expect(page.get_by_text("walnut cake is baked apart").first).to_be_visible()
    with hands.reaching("correct it"):
        hands.click("link", "Edit")
        text = page.input_value("[name=text]")
        hands.fill("[name=text]", text.replace("ten", "nine"))
        hands.click("button", "Save")
        expect(page.locator(".markdown")).to_contain_text("nine")
    with hands.reaching("see which calls cited it"):
        hands.interactions += 1
        page.locator("#usage-title + div li a").first.click()
        expect(page.locator("h1")).to_contain_text("Call with")
    with hands.reaching("turn a memory into a document"):
        hands.find("Moonpetal favourite", "Her favourite is the Moonpetal oolong")
        hands.click("link", "Write a document")
        hands.click("button", "Save")
        expect(page.locator(".markdown")).to_contain_text("Moonpetal")
    with hands.reaching("see the costs of last week"):
        hands.click("link", "Calls")
        hands.click("link", "Costs")
        hands.interactions += 1
        page.select_option("[name=days]", "7")
        hands.click("button", "Show")
        expect(page.locator("[name=days]")).to_have_value("7")
    with hands.reaching("find the expensive session"):
        hands.click("link", "By session")
        dearest = page.locator("table.data:not(.is-dense) tbody a").first
        name = dearest.inner_text()
        hands.interactions += 1
        dearest.click()
        expect(page.locator("h1")).to_have_text(name)
