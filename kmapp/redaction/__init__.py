"""Personal data and secrets in text: found by shape, checksum and the words around. Pure.

`redact` replaces what it finds by `[email]`, `[phone]`, `[card]`, `[id]` or `[secret]`; `flags`
tells a reviewer what is suspicious about a text and changes nothing. Names and addresses are not
found: that takes a model.
"""

from kmapp.redaction.finding import KINDS, Finding, find, redact, redact_json
from kmapp.redaction.suspicion import FLAGS, excerpts, flags

__all__ = ["FLAGS", "KINDS", "Finding", "excerpts", "find", "flags", "redact", "redact_json"]
