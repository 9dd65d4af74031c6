"""Requests to URLs that users configure."""

import socket
from threading import Event
from time import monotonic

import pytest

from kmapp.security.egress import json_requests
from kmapp.security.egress.allowed_urls import AllowedSites, CannotReach
from kmapp.security.egress.json_requests import request_json


def test_slow_resolver_does_not_delay_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved = Event()

    def resolve(*_args: object, **_options: object) -> list[object]:
        resolved.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(json_requests, "MAX_SECONDS", 0.1)
    began = monotonic()
    try:
        with pytest.raises(CannotReach, match="did not respond"):
            request_json("GET", "https://slow.test/", AllowedSites.of(["*"], []))
    finally:
        resolved.set()
    assert monotonic() - began < 20
