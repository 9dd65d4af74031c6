"""Memories as CSV rows that no spreadsheet evaluates."""

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Any

from memory.models import MemoryEntry

# Column and attribute.
COLUMNS = {
    "id": "id",
    "client_id": "client_id",
    "title": "title",
    "text": "content",
    "kind": "kind",
    "status": "status",
    "visibility": "visibility",
    "user_id": "user_id",
    "agent_id": "agent_id",
    "app_id": "app_id",
    "run_id": "run_id",
    "scope": "scope",
    "tags": "tags",
    "entities": "entities",
    "importance": "importance",
    "confidence": "confidence",
    "salience": "salience",
    "tier": "tier",
    "pinned": "pinned",
    "observed_at": "observed_at",
    "valid_from": "valid_from",
    "valid_to": "valid_to",
    "expires_at": "expires_at",
    "version": "version",
    "created_at": "created_at",
    "updated_at": "updated_at",
    "recalled": "access_count",
    "metadata": "slots",
    "sources": "sources",
    "raw_ref": "raw_ref",
    "evidence_ref": "evidence_ref",
}
BYTE_ORDER_MARK = "\ufeff"  # byte order mark, by which spreadsheets detect UTF-8
# Beginnings of cells that a spreadsheet evaluates as a formula. Some spreadsheets split at other
# separators than commas, even within quotes; after those, only unambiguous beginnings match.
FORMULA_PATTERN = re.compile(
    r"\A(?=[ \u00a0\u3000]*+[=+\-@\t\r\n＝＋－＠|%])"
    r"|(?<=[;\t\r\n])(?=[ \u00a0\u3000\"]*+(?:[=+@＝＋＠]|[-－]\S))"
)


def format_header() -> bytes:
    return BYTE_ORDER_MARK.encode() + _format_csv([list(COLUMNS)])


def format_rows(entries: Iterable[MemoryEntry]) -> bytes:
    return _format_csv(
        [format_cell(getattr(row, name)) for name in COLUMNS.values()] for row in entries
    )


def format_cell(value: Any) -> str:
    """Return a value as text that no spreadsheet evaluates."""
    if value is None:
        return ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        text = ", ".join(value)
    elif isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
    elif isinstance(value, bool | int | float):
        return str(value)
    else:
        text = value.isoformat() if hasattr(value, "isoformat") else str(value)
    return FORMULA_PATTERN.sub("'", text)


def _format_csv(rows: Iterable[list[str]]) -> bytes:
    output = io.StringIO()
    csv.writer(output, lineterminator="\r\n").writerows(rows)
    return output.getvalue().encode()
