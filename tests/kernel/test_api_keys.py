"""API keys: headers, scopes and the account of a key."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import revoke_key
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey
from tests import makers

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.kernel.api_views")]
NOTE = {"text": "The kettle is blue."}
Key = tuple[ApiKey, str]


@pytest.mark.parametrize(
    "header",
    [
        ("Authorization", "Bearer {}"),
        ("Authorization", "bearer  {} "),
        ("Authorization", "Token {}"),
        ("Authorization", "Api-Key {}"),
        ("X-Api-Key", "{}"),
    ],
)
def test_key_is_accepted_in_every_supported_header(
    client: Client, key: Key, header: tuple[str, str]
) -> None:
    name, form = header
    headers = {name: form.format(key[1])}
    answer = client.post("/v1/notes", NOTE, content_type="application/json", headers=headers)
    assert answer.status_code == 201


def test_x_api_key_is_used_when_authorization_is_unsupported(client: Client, key: Key) -> None:
    headers = {"Authorization": "Basic YTpi", "X-Api-Key": key[1]}
    assert client.get("/v1/notes?text=a", headers=headers).status_code == 200


@pytest.mark.parametrize("wrong", ["", "unknown", "secret", "expired", "revoked", "shape", "bytes"])
def test_every_invalid_key_returns_the_same_401(client: Client, acme: Account, wrong: str) -> None:
    secret = makers.key(acme)[1]
    expired = makers.key(acme, expires_at=timezone.now() - timedelta(seconds=1))[1]
    revoked = makers.key(acme)
    with acting(acme):
        revoke_key(revoked[0], actor=SYSTEM)
    sent = {
        "": "",
        "unknown": "km_aaaaaaaaaa_" + "b" * 43,
        "secret": secret[:-1] + ("a" if secret[-1] != "a" else "b"),
        "expired": expired,
        "revoked": revoked[1],
        "shape": "' OR 1=1",
        "bytes": "km_\xff\xfe",
    }[wrong]
    headers = {"Authorization": f"Bearer {sent}"}
    answer = client.get("/v1/notes?text=a", headers=headers)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    assert answer.json() == {
        "status": 401,
        "error": "unauthorized",
        "message": "This API key is not valid.",
        "detail": "This API key is not valid.",
        "details": {},
        "issues": [],
    }


def test_missing_key_returns_401_with_instructions(client: Client, acme: Account) -> None:
    answer = client.post("/v1/notes", NOTE, content_type="application/json")
    assert answer.status_code == 401
    assert "Authorization: Bearer" in answer.json()["message"]


def test_missing_scope_returns_403(client: Client, acme: Account) -> None:
    reader = {"X-Api-Key": makers.key(acme, scopes=["memory:read"])[1]}
    assert client.get("/v1/notes?text=a", headers=reader).status_code == 200
    assert client.head("/v1/notes?text=a", headers=reader).status_code == 200
    answer = client.post("/v1/notes", NOTE, content_type="application/json", headers=reader)
    assert answer.status_code == 403
    assert answer.json()["error"] == "missing_scope"
    assert answer.json()["details"] == {"scope": "memory:write"}


def test_view_without_scopes_denies_admin_keys(agent: Client) -> None:
    assert agent.post("/v1/silent", {}, content_type="application/json").status_code == 403


@pytest.mark.parametrize("method", ["put", "delete", "patch", "options", "trace"])
def test_unsupported_method_returns_405(agent: Client, method: str) -> None:
    answer = getattr(agent, method)("/v1/notes")
    assert answer.status_code == 405
    assert answer.headers["Allow"] == "GET, HEAD, POST"


@pytest.mark.parametrize("field", ["account_id", "tenant_id"])
def test_naming_another_account_returns_403(agent: Client, rival: Account, field: str) -> None:
    others: list[Any] = [str(rival.pk), "rival", "", 7, ["x"], {}]
    for other in others:
        body = {**NOTE, field: other}
        answer = agent.post("/v1/notes", body, content_type="application/json")
        assert (answer.status_code, answer.json()["error"]) == (403, "identity_mismatch"), other
    assert agent.get(f"/v1/notes?text=a&{field}={rival.pk}").status_code == 403


@pytest.mark.parametrize("field", ["account_id", "tenant_id"])
def test_naming_the_own_account_is_accepted(agent: Client, acme: Account, field: str) -> None:
    for own in (str(acme.pk), str(acme.pk).upper(), acme.slug, "default", None):
        body = {**NOTE, field: own}
        assert agent.post("/v1/notes", body, content_type="application/json").status_code == 201


def test_last_used_at_is_updated_once_a_minute(agent: Client, key: Key, acme: Account) -> None:
    agent.get("/v1/notes?text=a")
    with acting(acme):
        first = ApiKey.objects.get(pk=key[0].pk).last_used_at
    assert first is not None
    agent.get("/v1/notes?text=a")
    with acting(acme):
        assert ApiKey.objects.get(pk=key[0].pk).last_used_at == first
        ApiKey.objects.filter(pk=key[0].pk).update(last_used_at=first - timedelta(minutes=2))
    agent.get("/v1/notes?text=a")
    with acting(acme):
        again = ApiKey.objects.get(pk=key[0].pk).last_used_at
    assert again is not None
    assert again > first - timedelta(minutes=1)
