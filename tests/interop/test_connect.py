"""The page that connects an agent."""

import re

from django.conf import settings as django_settings
from django.test import Client
from pytest_django import Settings

from interop.setup_snippets import CLIENTS
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey

SECRET = re.compile(r"km_[A-Za-z0-9]{8,16}_[A-Za-z0-9_-]{16,128}")


def test_snippets_hold_the_new_key_once(admin: Client, acme: Account) -> None:
    secrets: list[str] = []
    for client in CLIENTS:
        page = admin.get(f"/connect/?client={client.name}")
        assert "km_…" in page.text, client
        assert not SECRET.search(page.text), client
        made = admin.post(f"/connect/?client={client.name}")
        secrets += set(SECRET.findall(made.text))
        assert "no-store" in made["Cache-Control"], client
        assert "Waiting for the first call" in made.text, client
    assert len(set(secrets)) == len(secrets) == len(CLIENTS)
    with acting(acme):
        keys = ApiKey.objects.of(acme.pk).order_by("created_at")
        assert not any("admin" in key.scopes for key in keys)
    status = f"/connect/{keys[len(keys) - 1].pk}/first-call/"
    assert "Waiting" in admin.get(status).text
    agent = Client(headers={"Authorization": f"Bearer {secrets[-1]}"})
    assert agent.post("/v1/memory/search", {"query": "tea"}, "application/json").status_code == 200
    assert "The first call arrived" in admin.get(status).text


def test_python_client_is_installed_from_a_checkout(admin: Client) -> None:
    page = admin.get("/connect/?client=python").text
    [path] = set(re.findall(r"pip install ([\w/]+)", page))
    assert (django_settings.BASE_DIR / path / "pyproject.toml").exists()


def test_reviewers_see_snippets_but_create_no_key(reviewer: Client, acme: Account) -> None:
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


def test_host_of_the_mcp_server(admin: Client, settings: Settings) -> None:
    settings.MCP_PORT = 9003
    for host, expected in (
        ("[::1]", "[::1]"),
        ("[::1]:8000", "[::1]"),
        ("kmapp.example", "kmapp.example"),
        ("kmapp.example:8000", "kmapp.example"),
    ):
        page = admin.get("/connect/", headers={"Host": host}).text
        assert f"http://{expected}:9003/mcp" in page, host


def test_a_new_key_comes_with_the_snippets_of_mcp(admin: Client) -> None:
    made = admin.post("/keys/new/", {"name": "planner", "scopes": ["memory:read"], "expires": ""})
    [secret] = set(SECRET.findall(made.text))
    assert "claude mcp add --transport http kmapp http://testserver:8003/mcp" in made.text
    assert made.text.count(secret) > 3
