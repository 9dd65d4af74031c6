"""One-time codes of an authenticator app, with a stopped clock."""

import re
from typing import Any

import pytest
from allauth.mfa.totp.internal import auth
from django.test import Client

from tests.web.pages import html

NOW = 1_800_000_000.0


def freeze(monkeypatch: pytest.MonkeyPatch, *, later: float = 0) -> None:
    """Stop the clock of one-time codes, which would otherwise change during a test."""

    class Clock:
        @staticmethod
        def time() -> float:
            return NOW + later

    monkeypatch.setattr(auth, "time", Clock)


def code_of(secret: str) -> str:
    counter = next(auth.yield_hotp_counters_from_time())
    return str(auth.format_hotp_value(auth.hotp_value(secret, counter)))


def read_secret(page: str) -> str:
    """Return the secret that the page shows to the app."""
    [secret] = re.findall(r'class="secret">([A-Z2-7]{32})<', page)
    return str(secret)


def add_app(client: Client) -> tuple[str, list[str]]:
    """Add an authenticator app to a signed-in person; return its secret and the recovery codes."""
    secret = read_secret(html(client.get("/security/app/add/")))
    answer: Any = client.post("/security/app/add/", {"code": code_of(secret)}, follow=True)
    codes = re.findall(r"<li><code>(\d+)</code></li>", html(answer))
    assert len(codes) == 10
    return secret, codes
