"""Detection of responses that reject the content of one request. Pure.

A 403 is about the key, the account or the region, and may succeed once an operator changes
something, unless it states that this input was flagged. The words "content policy" alone do not:
a provider that blocks a whole account for a while uses them, too.
"""

import re
from collections.abc import Mapping
from typing import Any

CODES = frozenset(
    {
        *("content_policy_violation", "content_policy", "content_filter", "content_filtered"),
        *("moderation", "moderation_blocked", "data_inspection_failed", "DataInspectionFailed"),
    }
)
# Fields of OpenRouter's `metadata`: the input that a moderation or a guardrail rejected.
FIELDS = frozenset({"flagged_input", "patterns"})
MESSAGE = re.compile(
    r"\b(?:input|prompt|message|request) (?:was|has been) flagged\b"
    r"|\bcontent violates\b|\bfailed check: safety",
    re.IGNORECASE,
)


def is_about_content(error: object) -> bool:
    """Return whether the error of a 403, parsed or as text, is about the content of the request."""
    if not isinstance(error, Mapping):
        return isinstance(error, str) and bool(MESSAGE.search(error))
    metadata = error.get("metadata")
    details: Mapping[str, Any] = metadata if isinstance(metadata, Mapping) else {}
    codes = [error.get("code"), error.get("type")]
    codes += [details.get("error_type"), details.get("provider_code")]
    return (
        any(isinstance(code, str) and code in CODES for code in codes)
        or not FIELDS.isdisjoint(details)
        or bool(MESSAGE.search(str(error.get("message") or "")))
    )
