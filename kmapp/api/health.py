"""Health of the product. Apps add their parts with `@check` and `@figure`.

Without a key, the response only states that the process runs. With one, it has all parts and
figures of the account. A failed essential part makes it a 503, so that a load
balancer stops using this host. Any other failed part makes it degraded: writes are stored and
searchable by words, and jobs catch up later.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from http import HTTPStatus
from typing import Any, cast
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kmapp.accounts.authentication import KeyPrincipal
from kmapp.api import throttles
from kmapp.api.errors import RETRY_AFTER
from kmapp.api.views import AlwaysJSON
from kmapp.ledger.chain_deviations import MAX_UNSIGNED_TIME, find_deviation, find_unsigned_since
from kmapp.ledger.checkpoint_copy_thread import load_copy_status
from kmapp.outbox.heartbeats import get_heartbeat_age
from kmapp.providers import breaker
from kmapp.providers.job_outages import find_outage
from kmapp.runtime.cache_backend import valkey_cache
from kmapp.search import read_replica

log = structlog.get_logger()
QUERIES_FAIL = (
    "The embedder of queries fails, so searches find words only. Check EMBEDDING_BASE_URL."
)
PASSAGES_FAIL = (
    "The embedder of passages fails, so new texts are found by words only. Check"
    " EMBEDDING_BATCH_BASE_URL."
)
NOT_SIGNED = (
    "Recent commits have no signed checkpoint, so their loss would go unnoticed. Check that beat"
    " runs, its log, and that it can write CHECKPOINT_FILE."
)
NOT_COPIED = (
    "A copy of the checkpoints is not up to date. It is tried again; check CHECKPOINT_COPY_FILE or"
    " CHECKPOINT_PEER_URL, and the log of beat."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthReport:
    """State of one part, with facts for the operator."""

    ok: bool
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthPart:
    name: str
    report: Callable[[UUID], HealthReport]  # of the account of the request
    essential: bool


_parts: list[HealthPart] = []
_figures: dict[str, Callable[[UUID], Any]] = {}

ReportFunction = Callable[[UUID], HealthReport]
Count = Callable[[UUID], Any]


def check(name: str, *, essential: bool = False) -> Callable[[ReportFunction], ReportFunction]:

    def register(report: ReportFunction) -> ReportFunction:
        _parts.append(HealthPart(name=name, report=report, essential=essential))
        return report

    return register


def figure(name: str) -> Callable[[Count], Count]:
    """Register a figure of the key's account. It opens `acting` itself."""

    def register(count: Count) -> Count:
        _figures[name] = count
        return count

    return register


@check("database", essential=True)
def check_database(_account_id: UUID) -> HealthReport:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
        cursor.fetchone()
    return HealthReport(ok=True)


def check_replica(account_id: UUID) -> HealthReport:
    """Report how far the replica is behind; without it, searches use the primary."""
    return HealthReport(ok=True, facts={"bytes_behind": read_replica.compute_lag(account_id)})


if read_replica.is_configured():
    check("replica")(check_replica)


@check("broker")
def check_broker(_account_id: UUID) -> HealthReport:
    return HealthReport(ok=valkey_cache.ping())


def _report_heartbeat(process: str, _account_id: UUID) -> HealthReport:
    seconds = get_heartbeat_age(process)
    return HealthReport(ok=seconds is not None, facts={"seen_seconds_ago": seconds})


for _process in ("worker", "scheduler"):
    check(_process)(partial(_report_heartbeat, _process))


@check("embedder")
def check_embedder(_account_id: UUID) -> HealthReport:
    """Report the latest calls for queries and for passages, which may be different servers.

    Nothing is called here, because a server that embeds a batch of passages answers late.
    """
    state = breaker.get_state(settings.EMBEDDING_BASE_URL)
    facts: dict[str, Any] = {"circuit": state}
    messages = [QUERIES_FAIL] if state == "open" else []
    if since := find_outage(settings.EMBEDDING_BATCH_BASE_URL):
        facts["passages_fail_since"] = since
        messages.append(PASSAGES_FAIL)
    if messages:
        facts["message"] = " ".join(messages)
    return HealthReport(ok=not messages, facts=facts)


@check("ledger")
def check_ledger(account_id: UUID) -> HealthReport:
    """Check the account's chain against its signed checkpoints outside the database."""
    if chain := find_deviation(account_id):
        facts = {"signed": chain.signed_seq, "ends": chain.last_seq, "message": chain.explanation}
        return HealthReport(ok=False, facts=facts)
    since = find_unsigned_since(account_id)
    if since and timezone.now() - since > MAX_UNSIGNED_TIME:
        return HealthReport(ok=False, facts={"unsigned_since": since, "message": NOT_SIGNED})
    copies = load_copy_status()
    if any(copy["error"] for copy in copies.values()):
        return HealthReport(ok=False, facts={"copies": copies, "message": NOT_COPIED})
    return HealthReport(ok=True)


@extend_schema(exclude=True)
class Health(APIView):
    content_negotiation_class = AlwaysJSON
    permission_classes = ()
    http_method_names = ["get", "head"]

    def perform_authentication(self, request: Request) -> None:
        """Authenticate in `get`, because liveness must not need the database."""

    def get(self, request: Request) -> Response:
        try:
            principal = cast("KeyPrincipal | None", request.auth)
        except AuthenticationFailed:
            if budget := throttles.count_request("anonymous", throttles.client_address(request)):
                budget.enforce()
            raise
        except DatabaseError:
            return _build_response("down", _build_body("down", {"database": {"ok": False}}))
        if principal is None:
            return Response(_build_body("ok", {}))
        reports = {part.name: _run_part(part, principal.account_id) for part in _parts}
        status = _find_worst_status(reports)
        parts = {name: {"ok": report.ok, **report.facts} for name, report in reports.items()}
        body = _build_body(status, parts)
        if status != "down":
            body |= {name: count(principal.account_id) for name, count in _figures.items()}
        return _build_response(status, body)


def _build_response(status: str, body: dict[str, Any]) -> Response:
    if status == "down":
        again = {"Retry-After": str(RETRY_AFTER)}
        return Response(body, status=HTTPStatus.SERVICE_UNAVAILABLE, headers=again)
    return Response(body)


def _build_body(status: str, parts: dict[str, Any]) -> dict[str, Any]:
    return {"ok": status == "ok", "status": status, "now": time.time(), **parts}


def _run_part(part: HealthPart, account_id: UUID) -> HealthReport:
    try:
        return part.report(account_id)
    except Exception as error:  # noqa: BLE001 - a part that cannot be checked has failed
        log.warning("unhealthy", part=part.name, error=type(error).__name__)
        return HealthReport(ok=False, facts={"error": type(error).__name__})


def _find_worst_status(reports: dict[str, HealthReport]) -> str:
    if any(part.essential and not reports[part.name].ok for part in _parts):
        return "down"
    return "ok" if all(report.ok for report in reports.values()) else "degraded"
