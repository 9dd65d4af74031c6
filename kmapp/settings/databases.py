"""PostgreSQL and its backups, and Valkey."""

from kmapp.database.server_response_timeout import build_connection_class
from kmapp.runtime import embedded, env
from kmapp.settings.folders import DATA_DIR

DATABASE_URL = env.text("DATABASE_URL") or embedded.database_url(DATA_DIR, "app")
DATABASE_OWNER_URL = env.text("DATABASE_OWNER_URL") or (
    "" if env.text("DATABASE_URL") else embedded.database_url(DATA_DIR, "owner")
)
REDIS_URL = env.text("REDIS_URL") or embedded.redis_url(DATA_DIR)
STATEMENT_TIMEOUT = env.interval("STATEMENT_TIMEOUT", "5s")


# Session settings, which each connection sends. `provision` also sets them for the app role,
# because PgBouncer drops what connections send; `doctor` checks that they are in effect.
DATABASE_SESSION = {
    "statement_timeout": STATEMENT_TIMEOUT,
    # The commits of an account are a chain, so a write waits for the commit before it, which takes
    # seconds while the disk stalls.
    "lock_timeout": "4s",
    "idle_in_transaction_session_timeout": "10s",
    # A filtered HNSW scan continues until it has enough rows; the default stops earlier. In strict
    # order it would drop rows that it finds late; `find_nearest` sorts. With 100, some searches end
    # far from the nearest vectors.
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.ef_search": "200",
    # JIT compilation of a plan takes longer than any of these statements runs.
    "jit": "off",
    # Parallel workers take long to start, and use the processors of other requests.
    "max_parallel_workers_per_gather": "0",
}


def _database(url: str, *, is_owner: bool = False) -> dict[str, object]:
    """Return an entry of `DATABASES`. The owner has no timeout, as schema changes may take long."""
    entry = env.database(url)
    options = entry["OPTIONS"]
    session = DATABASE_SESSION | ({"statement_timeout": "0"} if is_owner else {})
    options["options"] = " ".join(f"-c {name}={value}" for name, value in session.items())
    if not is_owner:
        # There are more connections than threads, so a wait means that the server is full or away:
        # fail soon and reconnect soon (by default, retries slow down to half a minute and more).
        options["pool"] = {
            "min_size": 0,
            "max_size": 8,
            "timeout": 2,
            "reconnect_timeout": 2,
            "connection_class": build_connection_class(STATEMENT_TIMEOUT),
        }
        options.setdefault("connect_timeout", 3)
    return entry


DATABASES = {
    # Requests and jobs use the app role, under row-level security.
    "default": _database(DATABASE_URL),
}
if DATABASE_OWNER_URL:
    DATABASES["owner"] = _database(DATABASE_OWNER_URL, is_owner=True)
DATABASE_REPLICA_URL = env.text("DATABASE_REPLICA_URL")
if DATABASE_REPLICA_URL:
    # Searches read from it while it is recent; see `kmapp.search.read_replica`.
    DATABASES["replica"] = _database(DATABASE_REPLICA_URL)
DATABASE_ROUTERS = ["kmapp.database.migration_router.OwnerMigrates"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "kmapp.runtime.cache_backend.ValkeyCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "kmapp",
    }
}

# Default folder of `manage.py backup`.
BACKUPS_DIR = env.path("BACKUPS_DIR", DATA_DIR / "backups")
# Number of past days of which any point in time can be restored, from base backups and archived
# WAL; 0 turns this off.
PITR_DAYS = env.integer("PITR_DAYS", 0)
