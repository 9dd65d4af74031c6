"""Checkpoints of the ledger, their copies and keys."""

from kmapp.runtime import env
from kmapp.settings.folders import DATA_DIR, KEYS_DIR

CHECKPOINT_FILE = env.path("CHECKPOINT_FILE", DATA_DIR / "checkpoints" / "checkpoints.ndjson")
CHECKPOINT_SECONDS = env.seconds("CHECKPOINT_SECONDS", 1)  # between two checks for new heads
# Copies of the checkpoints: a file at another path, and another kmapp that countersigns them.
CHECKPOINT_COPY_FILE = env.text("CHECKPOINT_COPY_FILE")
CHECKPOINT_PEER_URL = env.text("CHECKPOINT_PEER_URL").rstrip("/")
CHECKPOINT_PEER_KEY = env.text("CHECKPOINT_PEER_KEY")
# The peer's public keys, a copy of its CHECKPOINT_KEY_FILE.pub; its answers are verified with them.
CHECKPOINT_PEER_PUBLIC_KEYS = env.text("CHECKPOINT_PEER_PUBLIC_KEYS")
CHECKPOINT_KEY_FILE = env.path("CHECKPOINT_KEY_FILE", KEYS_DIR / "checkpoint.ed25519")
