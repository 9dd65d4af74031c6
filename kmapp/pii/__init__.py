"""Detection and redaction of credentials, e-mail addresses, phone, card and identity numbers. Pure.

`redact` writes `[email]`, `[phone]`, `[card]`, `[id]` or `[secret]`. Names and postal addresses
need a model and are not detected. Libraries find less in `tests/personal.py`, where our recognisers
find all 135 samples and nothing else: phonenumbers 9.0 finds 43 of 50 (8 false matches),
detect-secrets 1.5 finds 25 of 33 (58 false matches, 40 times slower), and python-stdnum 2.2 rejects
resident ids of counties that it does not list.
"""

from kmapp.pii.redact import KINDS, Finding, find_pii, redact, redact_json

__all__ = ["KINDS", "Finding", "find_pii", "redact", "redact_json"]
