"""The server's secret key, its addresses, the proxy before it, and its logs."""

from django.core.management.utils import get_random_secret_key

from kmapp.runtime import env
from kmapp.runtime.private_files import create_private_file
from kmapp.settings.folders import KEYS_DIR


def _load_secret_key() -> str:
    """Return the secret key, created at first start and stored outside the database."""
    path = KEYS_DIR / "secret"
    if not path.exists():
        create_private_file(path, get_random_secret_key().encode())
    return path.read_text()


SECRET_KEY = env.text("SECRET_KEY") or _load_secret_key()
# Former keys, which can still decrypt; they encrypt nothing.
SECRET_KEY_FALLBACKS = env.words("SECRET_KEY_FALLBACKS")
DEBUG = env.flag("DEBUG", default=False)
HOST = env.text("HOST", "127.0.0.1")
PORT = env.integer("PORT", 8000)
MCP_URL = env.text("MCP_URL")  # if a proxy serves MCP elsewhere than at MCP_PORT
MCP_PORT = env.integer("MCP_PORT", 8003)  # of the MCP server; 0 runs none
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.words("CSRF_TRUSTED_ORIGINS")
NUM_PROXIES = env.integer("NUM_PROXIES", 0)
# Behind TLS (a proxy that sets X-Forwarded-Proto) cookies are sent over TLS only.
BEHIND_TLS = env.flag("BEHIND_TLS", default=False)

LOGGING_CONFIG = "kmapp.runtime.logs.configure"
LOGGING = {"level": env.text("LOG_LEVEL", "INFO"), "json": env.flag("LOG_JSON", default=True)}
