"""E-mail. Without a mail server, messages are written to the log of the web process."""

from kmapp.runtime import env
from kmapp.settings.server import PORT

EMAIL_HOST = env.text("EMAIL_HOST")
EMAIL_BACKEND = (
    "django.core.mail.backends.smtp.EmailBackend"
    if EMAIL_HOST
    else "django.core.mail.backends.console.EmailBackend"
)
EMAIL_PORT = env.integer("EMAIL_PORT", 587)
EMAIL_HOST_USER = env.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = env.text("EMAIL_HOST_PASSWORD")
# STARTTLS by default; EMAIL_USE_SSL for a port that speaks TLS from the start (465).
EMAIL_USE_SSL = env.flag("EMAIL_USE_SSL", default=False)
EMAIL_USE_TLS = env.flag("EMAIL_USE_TLS", default=not EMAIL_USE_SSL)
EMAIL_TIMEOUT = env.seconds("EMAIL_TIMEOUT", 10)
# The address of the pages, for links in e-mails and webhooks. If it is not set, the e-mails that a
# request sends have the host of the request.
PUBLIC_URL = (env.text("PUBLIC_URL") or f"http://localhost:{PORT}").rstrip("/")
HAS_PUBLIC_URL = bool(env.text("PUBLIC_URL"))
DEFAULT_FROM_EMAIL = SERVER_EMAIL = env.text("EMAIL_FROM", "kmapp <kmapp@localhost>")
