"""Sessions end: after a working day, and after some idle hours."""

import time
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db

SINCE, SEEN = "since", "seen"  # seconds of the clock, in the session
NOTED_EVERY = 300  # seconds; a write a request would be too many
log = structlog.get_logger()


class SessionStore(db.SessionStore):
    """A session in the database that is nobody's once it is too old, or was left too long."""

    def cycle_key(self) -> None:
        """Somebody signs in: the session begins."""
        super().cycle_key()
        self[SINCE] = self[SEEN] = time.time()

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
