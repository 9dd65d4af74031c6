"""Settings: secrets, DEBUG, hosts, and combinations that are unsafe or do not work."""

import ipaddress
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from django.conf import settings

from kmapp.management.doctor.registry import DoctorFinding, check, error, ok, warning
from kmapp.runtime import tracing

MIN_SECRET_LENGTH = 50  # characters, as Django recommends
MIN_TOKEN_LENGTH = 20
LOCAL_NAMES = {"localhost", "127.0.0.1", "[::1]"}


def is_exposed() -> bool:
    """Return whether others than this machine can reach the web server."""
    return bool(settings.BEHIND_TLS) or not _is_local(settings.HOST)


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


@check("secrets")
def check_secrets() -> Iterator[DoctorFinding]:
    if len(settings.SECRET_KEY) < MIN_SECRET_LENGTH:
        yield error(
            f"SECRET_KEY has fewer than {MIN_SECRET_LENGTH} characters",
            "Set a random SECRET_KEY, with the present one in SECRET_KEY_FALLBACKS.",
        )
    if 0 < len(settings.METRICS_TOKEN) < MIN_TOKEN_LENGTH:
        yield warning(
            f"METRICS_TOKEN has fewer than {MIN_TOKEN_LENGTH} characters",
            "Set a longer random token.",
        )
    files = [settings.KEYS_DIR / "secret", settings.CHECKPOINT_KEY_FILE]
    files.append(settings.DATA_DIR / "credentials.json")
    open_files = [path for path in files if path.exists() and _is_readable_by_others(path)]
    for path in open_files:
        yield error(f"other users of this machine can read {path}", f"Run chmod 600 {path}.")
    if not open_files and len(settings.SECRET_KEY) >= MIN_SECRET_LENGTH:
        yield ok("SECRET_KEY is long, key files are private")


def _is_readable_by_others(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH | stat.S_IWGRP))


@check("debug")
def check_debug() -> Iterator[DoctorFinding]:
    remedy = "Set {}, and restart web, worker and beat."
    if settings.DEBUG:
        finding = error if is_exposed() else warning
        yield finding(
            "DEBUG is on: error pages show settings and texts", remedy.format("DEBUG=False")
        )
    if not settings.LOGGING["json"]:
        yield warning(
            "LOG_JSON is off: error messages in the log may contain texts",
            remedy.format("LOG_JSON=True"),
        )
    if not settings.DEBUG and settings.LOGGING["json"]:
        yield ok("DEBUG is off, logs contain no texts")


@check("hosts")
def check_hosts() -> Iterator[DoctorFinding]:
    findings = [*_check_host_names(), *_check_proxy()]
    yield from findings or [
        ok(f"{settings.HOST}:{settings.PORT}, {', '.join(settings.ALLOWED_HOSTS)}")
    ]


def _check_host_names() -> Iterator[DoctorFinding]:
    hosts = settings.ALLOWED_HOSTS
    if not hosts and not settings.DEBUG:
        yield error(
            "ALLOWED_HOSTS is empty: every request is refused", "List your host names in it."
        )
    if "*" in hosts:
        # Links in e-mails lead to PUBLIC_URL if it is set.
        effect = "" if settings.HAS_PUBLIC_URL else ", so links in e-mails can be forged"
        yield warning(f"ALLOWED_HOSTS accepts any name{effect}", "List your host names in it.")
    if is_exposed() and hosts and set(hosts) <= LOCAL_NAMES:
        yield warning(
            "ALLOWED_HOSTS has only local names: requests by any other name get a 400",
            "Add the name by which people and agents reach kmapp.",
        )


def _check_proxy() -> Iterator[DoctorFinding]:
    if not _is_local(settings.HOST) and not settings.BEHIND_TLS:
        yield warning(
            f"HOST={settings.HOST} without BEHIND_TLS: passwords and keys travel unencrypted",
            "Serve through a proxy that terminates TLS, with HOST=127.0.0.1 and BEHIND_TLS=True.",
        )
    if settings.BEHIND_TLS and not settings.NUM_PROXIES:
        yield warning(
            "BEHIND_TLS without NUM_PROXIES: all clients share the proxy's rate limit",
            "Set NUM_PROXIES to the number of proxies that append to X-Forwarded-For.",
        )
    if settings.NUM_PROXIES and not settings.BEHIND_TLS and not _is_local(settings.HOST):
        yield warning(
            "NUM_PROXIES is set and HOST is open: clients that avoid the proxy can forge addresses",
            "Let only the proxy reach this port.",
        )


@check("encryption")
def check_encryption() -> Iterator[DoctorFinding]:
    """Check that connections to servers on other hosts are encrypted and verify the server."""
    findings = [*_check_databases(), *_check_valkey_url()]
    yield from findings or [ok("servers are local, or verified by TLS")]


def _check_databases() -> Iterator[DoctorFinding]:
    variables = {
        "default": "DATABASE_URL",
        "owner": "DATABASE_OWNER_URL",
        "replica": "DATABASE_REPLICA_URL",
    }
    for alias, variable in variables.items():
        entry: dict[str, Any] = settings.DATABASES.get(alias, {"HOST": "", "OPTIONS": {}})
        host, mode = entry["HOST"], entry["OPTIONS"].get("sslmode", "prefer")
        if host and host[0] != "/" and not _is_local(host) and mode != "verify-full":
            yield warning(
                f"{variable} does not verify {host} (sslmode={mode})",
                "Add ?sslmode=verify-full&sslrootcert=FILE to it.",
            )


def _check_valkey_url() -> Iterator[DoctorFinding]:
    parts = urlsplit(settings.REDIS_URL)
    if parts.scheme == "redis" and not _is_local(parts.hostname or ""):
        yield warning(
            f"REDIS_URL does not encrypt the connection to {parts.hostname}",
            "Use rediss://…?ssl_ca_certs=FILE, or a network that others cannot read.",
        )
    query = dict(parse_qsl(parts.query.lower()))
    if parts.scheme == "rediss" and (
        query.get("ssl_cert_reqs", "required") != "required"
        or query.get("ssl_check_hostname") == "false"
    ):
        yield warning(
            f"REDIS_URL does not verify {parts.hostname}",
            "Remove ssl_cert_reqs and ssl_check_hostname from it; ssl_ca_certs names its CA.",
        )


@check("traces")
def check_traces() -> Iterator[DoctorFinding]:
    if problem := tracing.find_problem():
        message, _, remedy = problem.partition(": ")
        yield error(message, remedy[:1].upper() + remedy[1:])
    else:
        yield ok("on" if tracing.is_requested() else "off")


@check("providers")
def check_providers() -> Iterator[DoctorFinding]:
    """Check settings of the providers without calling them."""
    findings = []
    chat_url, query_url = settings.OPENAI_BASE_URL, settings.EMBEDDING_BASE_URL
    batch_url = settings.EMBEDDING_BATCH_BASE_URL
    if settings.CHAT_MODEL and not chat_url and not settings.OPENAI_API_KEY:
        findings.append(
            error("CHAT_MODEL is set without OPENAI_API_KEY", "Set it, or OPENAI_BASE_URL.")
        )
    for variable, url, key in (
        ("OPENAI_BASE_URL", chat_url, settings.OPENAI_API_KEY),
        ("EMBEDDING_BASE_URL", query_url, settings.EMBEDDING_API_KEY),
        (
            "EMBEDDING_BATCH_BASE_URL",
            "" if batch_url == query_url else batch_url,
            settings.EMBEDDING_API_KEY,
        ),
        ("RERANK_BASE_URL", settings.RERANK_BASE_URL, settings.RERANK_API_KEY),
    ):
        parts = urlsplit(url)
        if key and parts.scheme == "http" and not _is_local(parts.hostname or ""):
            message = f"{variable} is http: the key and all texts travel unencrypted"
            findings.append(warning(message, "Use https, or a network that others cannot read."))
    yield from findings or [ok(f"embedder {urlsplit(query_url).netloc}")]


@check("checkpoint peer")
def check_checkpoint_peer() -> Iterator[DoctorFinding]:
    """Check the URL of the peer without calling it."""
    parts = urlsplit(settings.CHECKPOINT_PEER_URL)
    if parts.scheme == "http" and not _is_local(parts.hostname or ""):
        yield warning(
            "CHECKPOINT_PEER_URL is http: CHECKPOINT_PEER_KEY travels unencrypted",
            "Use https, or a network that others cannot read.",
        )
    else:
        yield ok(parts.hostname or "none")


@check("e-mail settings")
def check_email_settings() -> Iterator[DoctorFinding]:
    if settings.EMAIL_USE_TLS and settings.EMAIL_USE_SSL:
        yield error("EMAIL_USE_TLS and EMAIL_USE_SSL are both on", "Turn one of them off.")
    elif not settings.EMAIL_HOST and is_exposed():
        yield warning(
            "no mail server: links for password resets are written to the log of the web process",
            "Set EMAIL_HOST and EMAIL_FROM.",
        )
    elif settings.EMAIL_HOST_PASSWORD and not (settings.EMAIL_USE_TLS or settings.EMAIL_USE_SSL):
        yield warning("the mail password travels unencrypted", "Set EMAIL_USE_TLS=True.")
    elif settings.EMAIL_HOST and is_exposed() and "//localhost" in settings.PUBLIC_URL:
        yield warning("links in e-mails lead to localhost", "Set PUBLIC_URL.")
    else:
        yield ok(settings.EMAIL_HOST or "messages are written to the log")
