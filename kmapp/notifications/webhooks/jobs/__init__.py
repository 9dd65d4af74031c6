"""Outbox handlers of webhooks."""
