"""Sessions that end after a maximum age and after a time of inactivity."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import structlog
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends import db
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac

from kmapp.accounts.models import User
from kmapp.database.steady_clock import SteadyTime
from kmapp.web.models import Session

SINCE_KEY, SEEN_KEY = "since", "seen"  # session keys of Unix times
ADDRESS_KEY, BROWSER_KEY = "address", "browser"  # session keys of the sign-in's device
UPDATE_INTERVAL = 300  # seconds; a write for each request would be too many
EXPIRED_BLOCK = 5_000
BROWSERS = {"Edg": "Edge", "Firefox": "Firefox", "Chrome": "Chrome", "Safari": "Safari"}
SYSTEMS = {
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Android": "Android",
    "Windows": "Windows",
    "Mac OS": "macOS",
    "Linux": "Linux",
}
log = structlog.get_logger()


class SessionStore(db.SessionStore):
    """A database session that becomes anonymous when it is too old or was idle too long."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Session:
        row = cast("Session", super().create_model_instance(data))
        row.user_id = data.get(SESSION_KEY)
        return row

    def cycle_key(self) -> None:
        super().cycle_key()
        self[SINCE_KEY] = self[SEEN_KEY] = time.time()

    def load(self) -> dict[str, Any]:
        """Return the data of the session; empty once it has expired."""
        data: dict[str, Any] = super().load()
        if SESSION_KEY not in data:
            return data
        now = time.time()
        if reason := _find_expiry(data, now):
            log.info("session_ended", user=data[SESSION_KEY], why=reason)
            self.delete(self.session_key)
            self._session_key = None
            return {}
        # A time in the future is from before the clock went back: the session starts now.
        since, seen = min(data.get(SINCE_KEY, now), now), data.get(SEEN_KEY, now)
        if since != data.get(SINCE_KEY) or abs(now - seen) > UPDATE_INTERVAL:
            data |= {SINCE_KEY: since, SEEN_KEY: now}
            self.modified = True
        return data


def _find_expiry(data: Mapping[str, Any], now: float) -> str:
    """Return why a session has expired; empty if it has not."""
    if now - data.get(SINCE_KEY, now) > settings.SESSION_HOURS * 3600:
        return "age"
    idle = now - data.get(SEEN_KEY, now) > settings.SESSION_IDLE_MINUTES * 60
    return "idle" if idle else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """A session of the person who looks at it. `id` is a digest: the key would be a credential."""

    id: str
    device: str
    address: str
    since: datetime
    seen: datetime
    is_current: bool


def remember_device(request: HttpRequest, address: str) -> None:
    """Store in the session where the person signed in."""
    request.session[ADDRESS_KEY] = address
    request.session[BROWSER_KEY] = format_device(request.headers.get("User-Agent", ""))


def format_device(agent: str) -> str:
    """Return the browser and system of a User-Agent header, such as "Firefox · Linux"."""
    matches = (
        next((name for word, name in names.items() if word in agent), "")
        for names in (BROWSERS, SYSTEMS)
    )
    return " · ".join(filter(None, matches))


def list_sessions(request: HttpRequest) -> list[OpenSession]:
    """Return the open sessions of the person, the latest used first."""
    sessions = [
        OpenSession(
            id=_digest(row),
            device=data.get(BROWSER_KEY, ""),
            address=data.get(ADDRESS_KEY, ""),
            since=datetime.fromtimestamp(data.get(SINCE_KEY, 0), UTC),
            seen=datetime.fromtimestamp(data.get(SEEN_KEY, 0), UTC),
            is_current=row.session_key == request.session.session_key,
        )
        for row, data in _open_rows(request.user)
    ]
    return sorted(sessions, key=lambda each: (not each.is_current, -each.seen.timestamp()))


def end_session(request: HttpRequest, session_id: str) -> bool:
    """End one other session of the person. Return whether it was open."""
    for row, _data in _open_rows(request.user):
        if _digest(row) == session_id and row.session_key != request.session.session_key:
            row.delete()
            log.info("session_ended", user=str(request.user.pk), why="revoked")
            return True
    return False


def end_sessions(user: User, *, except_key: str | None = None) -> int:
    """End all sessions of a person, except the one with this key. Return how many ended."""
    ended, _by_model = Session.objects.filter(user=user).exclude(session_key=except_key).delete()
    if ended:
        log.info("sessions_ended", user=str(user.pk), number=ended)
    return ended


def delete_expired_sessions() -> int:
    """Delete the sessions that expired without a sign-out, in blocks. Return their number."""
    expired = Session.objects.filter(expire_date__lt=SteadyTime()).order_by("expire_date")
    total = 0
    while True:
        block = expired.values("pk")[:EXPIRED_BLOCK]
        deleted, _by_model = Session.objects.filter(pk__in=block).delete()
        total += deleted
        if deleted < EXPIRED_BLOCK:
            return total


def _open_rows(user: Any) -> Iterator[tuple[Session, dict[str, Any]]]:
    """Yield the sessions that still sign this person in: a new password ends the others."""
    # A former SECRET_KEY among the fallbacks still signs in.
    valid = {user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()}
    now = time.time()
    for row in Session.objects.filter(user=user, expire_date__gt=timezone.now()):
        data = SessionStore().decode(row.session_data)
        if data.get(HASH_SESSION_KEY) in valid and not _find_expiry(data, now):
            yield row, data


def _digest(row: Session) -> str:
    return salted_hmac("kmapp.web.sessions", row.session_key, algorithm="sha256").hexdigest()[:32]
