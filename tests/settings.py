"""The product's settings on throw-away parts: real ones, in a folder that is gone after the run."""

import os
import socket
import uuid


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


# Workers of one run inherit these, so all of them talk to the parts that the first one started.
os.environ.setdefault("KMAPP_DATA_DIR", f"/tmp/kmapp-tests-{uuid.uuid4().hex[:8]}")  # noqa: S108
os.environ.setdefault("SECRET_KEY", "tests only")
os.environ.setdefault("EMBEDDER_QUERY_PORT", _free_port())
os.environ.setdefault("EMBEDDER_BATCH_PORT", os.environ["EMBEDDER_QUERY_PORT"])
os.environ.setdefault("LOG_LEVEL", "WARNING")
# All strangers of a run have one address.
os.environ.setdefault("THROTTLE_ANONYMOUS_PER_MINUTE", "100000")

from kmapp.settings import *  # noqa: E402, F403

ALLOWED_HOSTS = ["*"]
EMBEDDING_DEADLINE = 60.0  # on a busy machine, too, a query has a meaning
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
for _entry in DATABASES.values():  # noqa: F405
    _entry["OPTIONS"].pop("pool", None)  # type: ignore[attr-defined]  # each test changes databases
