"""The HTTP API of rules."""
