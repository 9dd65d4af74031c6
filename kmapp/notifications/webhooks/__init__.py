"""Webhooks: signed HTTP requests that report changes to addresses an admin entered.

Apps register the changes that they report (`change_registry`), and protocols register the payloads
that their clients parse (`payloads`). Requests follow the Standard Webhooks specification and are
sent by the outbox.
"""
