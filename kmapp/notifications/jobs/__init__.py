"""Outbox handlers of notifications."""
