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


def test_key_is_accepted_in_every_supported_header(client: Client, key: Key) -> None:
    for name, form in (
        *(("Authorization", "Bearer {}"), ("Authorization", "bearer  {} ")),
        *(("Authorization", "Token {}"), ("Authorization", "Api-Key {}"), ("X-Api-Key", "{}")),
    ):
        headers = {name: form.format(key[1])}
        answer = client.post("/v1/notes", NOTE, content_type="application/json", headers=headers)
        assert answer.status_code == 201, form


def test_x_api_key_is_used_when_authorization_is_unsupported(client: Client, key: Key) -> None:
    headers = {"Authorization": "Basic YTpi", "X-Api-Key": key[1]}
    assert client.get("/v1/notes?text=a", headers=headers).status_code == 200


def test_every_invalid_key_returns_the_same_401(client: Client, acme: Account) -> None:
    secret = makers.key(acme)[1]
    expired = makers.key(acme, expires_at=timezone.now() - timedelta(seconds=1))[1]
    revoked = makers.key(acme)
    with acting(acme):
        revoke_key(revoked[0], actor=SYSTEM)
    wrong_secret = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    unknown = "km_aaaaaaaaaa_" + "b" * 43
    for sent in ("", unknown, wrong_secret, expired, revoked[1], "' OR 1=1", "km_\xff\xfe"):
        answer = client.get("/v1/notes?text=a", headers={"Authorization": f"Bearer {sent}"})
        assert answer.status_code == 401, sent
        assert answer.headers["WWW-Authenticate"].startswith("Bearer"), sent
        assert answer.json() == {
            "status": 401,
            "error": "unauthorized",
            "message": "This API key is not valid.",
            "detail": "This API key is not valid.",
            "details": {},
            "issues": [],
        }, sent


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


def test_only_the_own_account_may_be_named(agent: Client, acme: Account, rival: Account) -> None:
    def send(field: str, value: Any) -> Any:
        return agent.post("/v1/notes", {**NOTE, field: value}, content_type="application/json")

    for field in ("account_id", "tenant_id"):
        for own in (str(acme.pk), str(acme.pk).upper(), acme.slug, "default", None):
            assert send(field, own).status_code == 201, own
        others: tuple[Any, ...] = (str(rival.pk), "rival", "", 7, ["x"], {})
        for other in others:
            answer = send(field, other)
            assert (answer.status_code, answer.json()["error"]) == (403, "identity_mismatch"), other
        assert agent.get(f"/v1/notes?text=a&{field}={rival.pk}").status_code == 403


def test_unsupported_method_returns_405(agent: Client) -> None:
    for method in ("put", "delete", "patch", "options", "trace"):
        answer = getattr(agent, method)("/v1/notes")
        assert answer.status_code == 405, method
        assert answer.headers["Allow"] == "GET, HEAD, POST", method


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
