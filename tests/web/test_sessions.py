"""Sessions, sign-in and cookies."""

import time

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.test import Client
from structlog.testing import capture_logs

from kmapp.accounts.models import Account
from kmapp.web.sessions import SEEN_KEY, SINCE_KEY
from tests.fresh_settings import load_settings
from tests.makers import PASSWORD
from tests.web.staff import staff

SIGN_IN = "/sign-in/"


@pytest.fixture
def person(acme: Account, client: Client) -> Client:
    client.force_login(staff(acme, "boss"))
    return client


def age_session(client: Client, **hours: float) -> None:
    session = client.session
    for name, number in hours.items():
        session[name] = time.time() - 3600 * number
    session.save()


def is_in(client: Client) -> bool:
    answer = client.get("/review/")
    assert answer.status_code in (200, 302)
    return answer.status_code == 200


def test_session_ends_after_its_maximum_age(person: Client) -> None:
    age_session(person, **{SINCE_KEY: settings.SESSION_HOURS - 0.1})
    assert is_in(person)
    age_session(person, **{SINCE_KEY: settings.SESSION_HOURS + 0.1})
    assert not is_in(person)
    assert SESSION_KEY not in person.session


def test_idle_session_ends(person: Client) -> None:
    idle = settings.SESSION_IDLE_MINUTES / 60
    age_session(person, **{SEEN_KEY: idle - 0.1})
    assert is_in(person)
    assert time.time() - person.session[SEEN_KEY] < 60, "a request is noted"
    age_session(person, **{SEEN_KEY: idle + 0.1})
    assert not is_in(person)


def test_sign_in_and_out_are_logged(acme: Account, client: Client) -> None:
    user = staff(acme, "boss")
    with capture_logs() as logs:
        for password in ("a wrong password", PASSWORD):
            client.post(SIGN_IN, {"username": user.username, "password": password})
        answer = client.post("/sign-out/")
    events = [log for log in logs if "sign" in str(log["event"])]
    assert [log["event"] for log in events] == ["sign_in_failed", "signed_in", "signed_out"]
    assert [log.get("user") for log in events[1:]] == [str(user.pk)] * 2
    assert all(log["address"] == "127.0.0.1" for log in events[:2])
    assert not any(word in str(logs) for word in ("a wrong password", PASSWORD))
    assert answer.headers["Clear-Site-Data"] == '"cache"'


def test_deactivated_user_is_signed_out(acme: Account, client: Client) -> None:
    user = staff(acme, "boss")
    client.force_login(user)
    assert is_in(client)
    user.is_active = False
    user.save()
    assert not is_in(client)


def test_session_cookie_is_protected(acme: Account, client: Client) -> None:
    user = staff(acme, "boss")
    answer = client.post(SIGN_IN, {"username": user.username, "password": PASSWORD})
    cookie = answer.cookies[settings.SESSION_COOKIE_NAME]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert client.trace("/").status_code == 405


def test_tls_settings_secure_cookies_and_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BEHIND_TLS", "True")
    behind = load_settings()
    assert behind["SESSION_COOKIE_NAME"].startswith("__Host-")
    assert behind["CSRF_COOKIE_NAME"].startswith("__Host-")
    assert behind["SESSION_COOKIE_SECURE"]
    assert behind["SECURE_HSTS_SECONDS"] >= 365 * 24 * 3600
