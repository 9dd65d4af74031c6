"""URLs that may be fetched: parsed strictly, and only of public hosts."""

import socket

import pytest
from django.utils import translation

from kmapp.security.egress.allowed_urls import (
    AllowedSites,
    CannotReach,
    is_public,
    validate_address,
)
from knowledge.parsing.failure_messages import translate_failure
from tests.knowledge.hostile_urls import NUMBERS, ODD, PUBLIC

NOT_ALLOWED = (
    *("http://tea.test:8080/", "http://tea.test:x/", "http://", "http://[::1/", "https://"),
    *("javascript:alert(1)", "http://te a.test/", "http://tea%2etest/", "http://a:b@tea.test/"),
    *("http://other.test/", "http://sub.tea.test/", "http://tea.test.evil/"),
)


@pytest.mark.parametrize("url", [*ODD, *NOT_ALLOWED, f"http://tea.test/{'a' * 2_000}"])
def test_rejects_malformed_and_unlisted_urls(url: str) -> None:
    with pytest.raises(CannotReach) as refused:
        validate_address(url, AllowedSites.of(["tea.test"], ["wiki.test:8080"]))
    with translation.override("zh-hans"):
        assert translate_failure(str(refused.value)) != str(refused.value)


@pytest.mark.parametrize("host", ["a" * 64, f"{'a' * 64}.test", f"tea.{'a' * 64}", "1..2", ".."])
def test_rejects_hosts_that_no_resolver_can_look_up(host: str) -> None:
    with pytest.raises(CannotReach):
        validate_address(f"http://{host}/", AllowedSites.of(["*"], [f"{host}:80"]))
    longest = f"http://{'a' * 63}.test/"
    assert validate_address(longest, AllowedSites.of(["*"], [])) == longest


def test_urls_are_normalised() -> None:
    allowed = AllowedSites.of(["Tea.test"], ["wiki.test:8080"])
    assert validate_address("HTTP://TEA.test./a b/茶?q=é#c", allowed) == (
        "http://tea.test/a%20b/%E8%8C%B6?q=%C3%A9"
    )
    assert validate_address("https://tea.test:443", allowed) == "https://tea.test/"
    assert validate_address("http://wiki.test:8080/a%20b", allowed) == "http://wiki.test:8080/a%20b"


def test_reserved_addresses_are_not_public() -> None:
    assert all(is_public(each) for each in (PUBLIC, "2606:4700::1111", "9.9.9.9"))
    for host in NUMBERS:
        for results in socket.getaddrinfo(host.strip("[]"), 80, type=socket.SOCK_STREAM):
            assert not is_public(str(results[4][0])), host
    assert not is_public("fe80::1%lo")
