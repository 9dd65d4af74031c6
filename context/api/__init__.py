"""The HTTP API of context."""
