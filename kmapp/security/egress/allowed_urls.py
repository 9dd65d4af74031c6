"""Validation of requested addresses. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Self
from urllib.parse import quote, urlsplit

MAX_LENGTH = 2_000  # characters
PORTS = {"http": 80, "https": 443}
# Networks that `is_global` accepts in some Python version, and those that embed IPv4 addresses.
PRIVATE_NETWORKS = tuple(
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16"),
        *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16"),
        *("198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        *("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96"),  # compatible, mapped, translated
        *("64:ff9b::/96", "64:ff9b:1::/48"),  # NAT64
        *("2001::/23", "2002::/16"),  # Teredo and its kin, 6to4
        *("100::/64", "2001:db8::/32", "3fff::/20", "5f00::/16"),  # discard, documentation, SRv6
        *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),  # local, multicast
    )
)
_LABEL = r"[a-z0-9_-]{1,63}"  # the resolver raises UnicodeError for others
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*|[0-9a-f.]{{0,45}}:[0-9a-f:.]*")
_UNQUOTED = "!#$%&'()*+,/:;=?@[]~"  # all other characters of an address are quoted
UNREADABLE = "Enter an http:// or https:// URL."
SITE_NOT_ALLOWED = "This site is not on the list of allowed sites."
NOT_PUBLIC = "This site has no public IP address, so it cannot be fetched."


class CannotReach(Exception):
    """The reason why a site was not contacted, for the person who named its address."""


ANY_HOST = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedSites:
    """Sites that may be contacted."""

    hosts: frozenset[str]  # "docs.example.org" or "*", at public addresses and default ports
    private: frozenset[str]  # "wiki.corp:8080", also in a private network

    @classmethod
    def of(cls, hosts: Iterable[str], private: Iterable[str]) -> Self:
        return cls(
            hosts=frozenset(each.lower() for each in hosts),
            private=frozenset(each.lower() for each in private),
        )

    def __bool__(self) -> bool:
        return bool(self.hosts or self.private)

    def allows_public(self, host: str) -> bool:
        return host in self.hosts or ANY_HOST in self.hosts

    def allows_private(self, host: str, port: int) -> bool:
        return f"{host}:{port}" in self.private


def validate_address(url: str, allowed: AllowedSites) -> str:
    """Return the normalized address if it may be contacted, or raise CannotReach."""
    try:
        parts = urlsplit(quote(url, safe=_UNQUOTED))
        host, port = (parts.hostname or "").removesuffix("."), parts.port
    except ValueError as error:
        raise CannotReach(UNREADABLE) from error
    usual = PORTS.get(parts.scheme)
    port = usual if port is None else port
    readable = (
        usual and _NAME.fullmatch(host) and "@" not in parts.netloc and len(url) <= MAX_LENGTH
    )
    if not readable or port is None:
        raise CannotReach(UNREADABLE)
    if not allowed.allows_private(host, port):
        if port not in PORTS.values():
            raise CannotReach(UNREADABLE)
        if not allowed.allows_public(host):
            raise CannotReach(SITE_NOT_ALLOWED)
    place = f"[{host}]" if ":" in host else host
    port_suffix = "" if port == usual else f":{port}"
    query = f"?{parts.query}" if parts.query else ""
    return f"{parts.scheme}://{place}{port_suffix}{parts.path or '/'}{query}"


def is_secure(address: str, allowed: AllowedSites) -> bool:
    """Return whether TLS protects requests there, or an allowed private network."""
    parts = urlsplit(address)
    port = parts.port or PORTS[parts.scheme]
    return parts.scheme == "https" or allowed.allows_private(str(parts.hostname), port)


def is_public(parts: str) -> bool:
    ip = ip_address(parts.partition("%")[0])  # of "fe80::1%eth0" the address
    return ip.is_global and not ip.is_multicast and not any(ip in each for each in PRIVATE_NETWORKS)
