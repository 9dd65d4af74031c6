"""Sessions end: after a working day, after some idle hours. Who comes and goes is in the log."""

import time
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import SESSION_KEY, signals
from django.contrib.sessions.backends import db
from django.dispatch import receiver
from django.http import HttpRequest
from rest_framework.request import Request

from kmapp.api.throttles import client_address

SINCE, SEEN = "since", "seen"  # seconds of the clock, in the session
NOTED_EVERY = 300  # seconds; a write a request would be too many
log = structlog.get_logger()


class SessionStore(db.SessionStore):
    """A session in the database that is nobody's once it is too old, or was left too long."""

    def load(self) -> dict[str, Any]:
        """What the session holds, for as long as it lasts."""
        held: dict[str, Any] = super().load()
        if SESSION_KEY not in held:
            return held
        now = time.time()
        since, seen = held.get(SINCE, now), held.get(SEEN, now)
        old = now - since > settings.SESSION_HOURS * 3600
        if old or now - seen > settings.SESSION_IDLE_MINUTES * 60:
            log.info("session_ended", user=held[SESSION_KEY], why="age" if old else "idle")
            self.delete(self.session_key)
            self._session_key = None
            return {}
        if SINCE not in held or now - seen > NOTED_EVERY:
            held |= {SINCE: since, SEEN: now}
            self.modified = True
        return held


@receiver(signals.user_logged_in)
def _signed_in(request: HttpRequest, user: Any, **_: Any) -> None:
    request.session[SINCE] = request.session[SEEN] = time.time()
    log.info("signed_in", user=str(user.pk), address=_address(request))


@receiver(signals.user_logged_out)
def _signed_out(request: HttpRequest, user: Any, **_: Any) -> None:
    log.info("signed_out", user=str(user.pk) if user else None, address=_address(request))


@receiver(signals.user_login_failed)
def _refused(request: HttpRequest | None = None, **_: Any) -> None:
    """Without the name that was typed: it may be somebody's password."""
    log.warning("sign_in_failed", address=_address(request) if request else None)


def _address(request: HttpRequest) -> str:
    """As far as our proxies tell it; tests sign in without a network."""
    return client_address(Request(request)) if "REMOTE_ADDR" in request.META else ""
