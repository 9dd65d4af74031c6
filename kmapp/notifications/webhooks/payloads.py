"""Formats of payloads. A protocol registers the one that its receivers parse."""

from collections.abc import Callable, Mapping
from typing import Any

from kmapp.notifications.webhooks.change_registry import ReportedChange

NATIVE = "kmapp"
Payload = Mapping[str, Any]
Build = Callable[[ReportedChange], Payload]


def build_native_payload(change: ReportedChange) -> Payload:
    return {
        "type": change.event_type,
        "timestamp": change.created_at.isoformat(),
        "data": change.data,
    }


_formats: dict[str, Build] = {NATIVE: build_native_payload}


def register_format(name: str, build: Build) -> None:
    _formats[name] = build


def list_formats() -> list[str]:
    return list(_formats)


def build_payload(name: str, change: ReportedChange) -> Payload:
    return _formats[name](change)
