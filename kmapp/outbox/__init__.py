"""Outbox: pending work, written in the transaction of the change that causes it.

A Celery message only wakes a worker, so a lost broker loses no work. Handlers run at least once, so
they are idempotent; they read current data, so order does not matter.
"""
