"""Sessions, cookies, and headers that protect pages."""

from csp.constants import NONE, SELF

from kmapp.runtime import env
from kmapp.settings.server import BEHIND_TLS

SESSION_ENGINE = "kmapp.web.sessions"
# A session ends this long after signing in, and after this long without a request.
SESSION_HOURS = env.integer("SESSION_HOURS", 12, minimum=1)
SESSION_IDLE_MINUTES = env.integer("SESSION_IDLE_MINUTES", 120, minimum=1)
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = BEHIND_TLS
# Browsers accept a cookie with this prefix only over TLS from the same host.
COOKIE_PREFIX = "__Host-" if BEHIND_TLS else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}django_language"
THEME_COOKIE_NAME = f"{COOKIE_PREFIX}kmapp_theme"
SECURE_HSTS_SECONDS = env.integer("HSTS_SECONDS", 365 * 24 * 3600) if BEHIND_TLS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = True
CSRF_FAILURE_VIEW = "kmapp.web.error_views.csrf_failure"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
