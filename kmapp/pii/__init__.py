"""Detection and redaction of credentials, e-mail addresses, phone, card and identity numbers. Pure.

`redact` writes `[email]`, `[phone]`, `[card]`, `[id]` or `[secret]`. Names and postal addresses
need a model and are not detected. No library replaces these recognisers, which find all 135 samples
of `tests/pii_corpus.py` and nothing else there: phonenumbers 9.0 for China finds 43 of 50 (8 false
matches); detect-secrets 1.5 finds 25 of 33 (58 false matches, 40 times slower) or, without entropy
plugins, 3 of 33; python-stdnum 2.2 rejects resident ids of counties that it does not list.
"""

from kmapp.pii.redact import KINDS, Finding, find_pii, redact, redact_json

__all__ = ["KINDS", "Finding", "find_pii", "redact", "redact_json"]
