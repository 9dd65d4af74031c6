"""Detection and redaction of credentials, e-mail addresses, phone, card and identity numbers. Pure.

`redact` writes `[email]`, `[phone]`, `[card]`, `[id]` or `[secret]`. Names and postal addresses
need a model and are not detected. `docs/decisions/detection-libraries.md` compares the recognisers
with libraries.
"""

from kmapp.security.pii.redact import KINDS, PiiMatch, find_pii, redact, redact_json

__all__ = ["KINDS", "PiiMatch", "find_pii", "redact", "redact_json"]
