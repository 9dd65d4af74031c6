"""Outbox: pending work, written in the transaction of the change that causes it.

A Celery message only wakes a worker; losing the broker loses nothing. Handlers run at least once,
so they are idempotent, and read present state, so order does not matter.
"""
