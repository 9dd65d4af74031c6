"""The public status of the installation, for uptime checks and for people."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from threading import Lock

import structlog
from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from kmapp.api.errors import RETRY_AFTER
from kmapp.outbox.heartbeats import get_heartbeat_age
from kmapp.runtime.cache_backend import valkey_cache
from kmapp.runtime.in_process_caches import TtlCache
from kmapp.web.context_processors import chrome

SECONDS = 5  # lifetime of a status, so that many requests put no load on the database
LABELS = {"web": _("Web"), "database": _("Database"), "cache": _("Cache"), "workers": _("Workers")}
log = structlog.get_logger()
recent = TtlCache["Status"](max_entries=1)
_lock = Lock()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Whether each part responds. Without the database, kmapp is down; else at most degraded."""

    parts: dict[str, bool]
    checked_at: datetime

    @property
    def word(self) -> str:
        if not self.parts["database"]:
            return "down"
        return "ok" if all(self.parts.values()) else "degraded"


@require_safe
def status(request: HttpRequest) -> HttpResponse:
    current = _load_status()
    code = HTTPStatus.SERVICE_UNAVAILABLE if current.word == "down" else HTTPStatus.OK
    if request.get_preferred_type(["text/html", "application/json"]) == "application/json":
        words = {name: "ok" if ok else "degraded" for name, ok in current.parts.items()}
        body = {"status": current.word, "parts": words, "checked_at": current.checked_at}
        answer: HttpResponse = JsonResponse(body, status=code)
    else:
        parts = [(LABELS[name], ok) for name, ok in current.parts.items()]
        context = {"status": current, "parts": parts, "chrome": chrome(request, use_user=False)}
        page = render_to_string("web/status/index.html", context)  # without session and database
        answer = HttpResponse(page, status=code)
    answer.headers["Cache-Control"] = f"public, max-age={SECONDS}"
    answer.headers["Vary"] = "Accept, Accept-Language, Cookie"
    if code != HTTPStatus.OK:
        answer.headers["Retry-After"] = str(RETRY_AFTER)
    return answer


def _load_status() -> Status:
    """Return the status of the last seconds; only one thread of the process checks again."""
    with _lock:
        earlier = recent.get("status")
        return earlier or recent.put("status", _check_parts(), seconds=SECONDS)


def _check_parts() -> Status:
    parts = {"web": True, "database": _database_responds(), "cache": valkey_cache.ping()}
    parts["workers"] = get_heartbeat_age("worker") is not None
    return Status(parts=parts, checked_at=timezone.now())


def _database_responds() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as error:
        log.warning("unhealthy", part="database", error=type(error).__name__)
        return False
    return True
