"""The HTTP API of memory."""
