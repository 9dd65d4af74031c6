"""The HTTP API of knowledge."""
