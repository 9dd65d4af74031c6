"""Settings of the tests: real servers with data in a temporary folder."""

import os

from kmapp.runtime.embedded.temporary_servers import free_port
from tests.data_folder import name_data_folder

# Workers inherit these, so that all use the servers that the first process starts.
os.environ.setdefault("KMAPP_DATA_DIR", name_data_folder())
os.environ.setdefault("SECRET_KEY", "tests only")
os.environ.setdefault("EMBEDDER_QUERY_PORT", str(free_port()))
os.environ.setdefault("EMBEDDER_BATCH_PORT", os.environ["EMBEDDER_QUERY_PORT"])
os.environ.setdefault("LOG_LEVEL", "WARNING")
# All anonymous clients of a run have one address, so they share one limit.
os.environ.setdefault("THROTTLE_ANONYMOUS_PER_MINUTE", "100000")

from kmapp.settings import *  # noqa: F403

ALLOWED_HOSTS = ["*"]
WEBHOOK_HOSTS = ["hooks.test"]
# Each worker has a Valkey database of its own, because tests clear the cache.
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw-1").removeprefix("gw")) + 1
CACHES["default"]["LOCATION"] = f"{REDIS_URL}?db={_worker}"  # noqa: F405
# The product waits half a second for Valkey, which is too short on a busy machine.
CACHES["default"]["OPTIONS"] = {"socket_timeout": 30}  # type: ignore[assignment]  # noqa: F405
THROTTLES["sign_in"] = 100_000  # noqa: F405 - all clients of a run have one address
EMBEDDING_DEADLINE = 60.0  # enough on a busy machine
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
for _entry in DATABASES.values():  # noqa: F405
    _entry["OPTIONS"].pop("pool", None)  # type: ignore[attr-defined]  # each test changes databases
    # The transaction of a test is idle while the test does something else.
    _entry["OPTIONS"]["options"] += " -c idle_in_transaction_session_timeout=10min"  # type: ignore[index]
DATABASE_SESSION["idle_in_transaction_session_timeout"] = "10min"  # noqa: F405
