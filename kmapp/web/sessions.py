"""Sessions that end after a maximum age and after a time of inactivity."""

import time
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db

SINCE, SEEN = "since", "seen"  # seconds of the clock, in the session
UPDATE_INTERVAL = 300  # seconds; a write for each request would be too many
log = structlog.get_logger()


class SessionStore(db.SessionStore):
    """A database session that becomes anonymous when it is too old or was idle too long."""

    def cycle_key(self) -> None:
        super().cycle_key()
        self[SINCE] = self[SEEN] = time.time()

    def load(self) -> dict[str, Any]:
        """Return the data of the session; empty once it has expired."""
        data: dict[str, Any] = super().load()
        if SESSION_KEY not in data:
            return data
        now = time.time()
        since, seen = data.get(SINCE, now), data.get(SEEN, now)
        old = now - since > settings.SESSION_HOURS * 3600
        if old or now - seen > settings.SESSION_IDLE_MINUTES * 60:
            log.info("session_ended", user=data[SESSION_KEY], why="age" if old else "idle")
            self.delete(self.session_key)
            self._session_key = None
            return {}
        if SINCE not in data or now - seen > UPDATE_INTERVAL:
            data |= {SINCE: since, SEEN: now}
            self.modified = True
        return data
