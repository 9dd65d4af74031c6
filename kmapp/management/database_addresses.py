"""Database addresses of commands: the owner's connection and the superuser's server."""

from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from kmapp.runtime import embedded, env


def get_owner_address() -> dict[str, Any]:
    """Return the connection parameters of the owner, who sees all accounts."""
    if "owner" not in settings.DATABASES:
        raise CommandError("Set DATABASE_OWNER_URL as well as DATABASE_URL.")
    return env.address(settings.DATABASES["owner"])


def get_server_url(url: str = "") -> str:
    """Return the URL of the server as superuser: given, configured, or embedded."""
    configured = url or env.text("DATABASE_SUPERUSER_URL")
    if configured or not env.text("DATABASE_URL"):
        return configured or embedded.server_url(settings.DATA_DIR)
    raise CommandError(
        "Enter the superuser URL of your server: --url "
        "postgresql://superuser:password@host:port/postgres"
    )
