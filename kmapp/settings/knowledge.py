"""Limits of documents, and the virus scanner."""

from kmapp.runtime import env

KNOWLEDGE_CACHE_SECONDS = env.seconds("KNOWLEDGE_CACHE_SECONDS", 30)
# Limits of one file, and of all files of an account.
KNOWLEDGE_MAX_FILE_BYTES = env.integer("KNOWLEDGE_MAX_FILE_BYTES", 100 * 1024 * 1024)
KNOWLEDGE_MAX_ACCOUNT_BYTES = env.integer("KNOWLEDGE_MAX_ACCOUNT_BYTES", 5 * 1024**3)
CLAMD_SOCKET = env.text("CLAMD_SOCKET")  # a path, or host:port
CLAMD_SECONDS = env.seconds("CLAMD_SECONDS", 60)
