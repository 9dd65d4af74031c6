"""Outbox: what a change of truth still owes, written in the transaction that made the change.

A Celery message only wakes a worker; losing the broker loses nothing. Handlers run at least once,
so they are idempotent, and read present state, so order does not matter.
"""
