"""The page that connects an agent."""

import re

import pytest
from django.conf import settings as django_settings
from django.test import Client
from pytest_django import Settings

from interop.setup_snippets import CLIENTS
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey, User
from tests import makers

SECRET = re.compile(r"km_[A-Za-z0-9]{8,16}_[A-Za-z0-9_-]{16,128}")


@pytest.fixture
def admin(ada: User) -> Client:
    return makers.signed_in(ada)


@pytest.mark.parametrize("client", [client.name for client in CLIENTS])
def test_snippets_hold_the_new_key_once(client: str, admin: Client, acme: Account) -> None:
    page = admin.get(f"/connect/?client={client}")
    assert "km_…" in page.text
    assert not SECRET.search(page.text)
    made = admin.post(f"/connect/?client={client}")
    [secret] = set(SECRET.findall(made.text))
    assert "no-store" in made["Cache-Control"]
    assert "Waiting for the first call" in made.text
    with acting(acme):
        key = ApiKey.objects.of(acme.pk).latest("created_at")
    assert "admin" not in key.scopes
    status = f"/connect/{key.pk}/first-call/"
    assert "Waiting" in admin.get(status).text
    agent = Client(headers={"Authorization": f"Bearer {secret}"})
    assert agent.post("/v1/memory/search", {"query": "tea"}, "application/json").status_code == 200
    assert "The first call arrived" in admin.get(status).text


def test_python_client_is_installed_from_a_checkout(admin: Client) -> None:
    page = admin.get("/connect/?client=python").text
    [path] = set(re.findall(r"pip install ([\w/]+)", page))
    assert (django_settings.BASE_DIR / path / "pyproject.toml").exists()


def test_reviewers_see_snippets_but_create_no_key(acme: Account, alice: User) -> None:
    reviewer = makers.signed_in(alice)
    assert "Ask an admin" in reviewer.get("/connect/").text
    assert reviewer.post("/connect/").status_code == 403
    with acting(acme):
        assert not ApiKey.objects.of(acme.pk).exists()


def test_addresses_of_the_mcp_server(admin: Client, settings: Settings) -> None:
    settings.MCP_PORT = 9003
    assert "http://testserver:9003/mcp" in admin.get("/connect/").text
    settings.MCP_URL = "https://kmapp.example/mcp"
    assert "https://kmapp.example/mcp" in admin.get("/connect/").text
    settings.MCP_PORT = 0
    assert "MCP_PORT is 0" in admin.get("/connect/").text


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("[::1]", "[::1]"),
        ("[::1]:8000", "[::1]"),
        ("kmapp.example", "kmapp.example"),
        ("kmapp.example:8000", "kmapp.example"),
    ],
)
def test_host_of_the_mcp_server(
    admin: Client, settings: Settings, host: str, expected: str
) -> None:
    settings.MCP_PORT = 9003
    assert f"http://{expected}:9003/mcp" in admin.get("/connect/", headers={"Host": host}).text


def test_a_new_key_comes_with_the_snippets_of_mcp(admin: Client) -> None:
    made = admin.post("/keys/new/", {"name": "planner", "scopes": ["memory:read"], "expires": ""})
    [secret] = set(SECRET.findall(made.text))
    assert "claude mcp add --transport http kmapp http://testserver:8003/mcp" in made.text
    assert made.text.count(secret) > 3
