"""Memories as CSV rows that no spreadsheet evaluates."""

import csv
import io
import json
import re
from collections.abc import Iterable
from typing import Any

from memory.models import MemoryEntry

COLUMNS = (
    *("id", "client_id", "title", "text", "kind", "status", "visibility", "user_id", "agent_id"),
    *("app_id", "run_id", "scope", "tags", "entities", "importance", "confidence", "salience"),
    *("tier", "pinned", "observed_at", "valid_from", "valid_to", "expires_at", "version"),
    *("created_at", "updated_at", "recalled", "metadata", "sources", "raw_ref", "evidence_ref"),
)
# The attributes of columns that have another name.
ATTRIBUTES = {"text": "content", "recalled": "access_count", "metadata": "slots"}
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
        [format_cell(getattr(row, ATTRIBUTES.get(name, name))) for name in COLUMNS]
        for row in entries
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
