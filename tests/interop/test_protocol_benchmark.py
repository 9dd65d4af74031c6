"""`manage.py interop_perf` fails if a protocol misses its target."""

import io
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command

from interop.management.commands import interop_perf
from interop.management.commands.interop_perf import LIMITS, Figures


def run(monkeypatch: pytest.MonkeyPatch, added: Mapping[str, float], *, same: int = 3) -> str:
    """Run the command on these figures, and return its output."""

    def fill(_connection: Any, _questions: Any, figures: Mapping[str, Figures]) -> None:
        for protocol, each in figures.items():
            each.native = [10.0, 20.0, 30.0]
            each.own = [time + added.get(protocol, 0.0) for time in each.native]
            each.same = same

    for name in ("run_temporary_product", "connect"):
        monkeypatch.setattr(interop_perf, name, lambda *_: nullcontext(Mock()))
    monkeypatch.setattr(interop_perf, "wait_for_embeddings", Mock())
    monkeypatch.setattr(interop_perf, "measure", fill)
    call_command("interop_perf", stdout=(output := io.StringIO()))
    return output.getvalue()


def test_protocols_at_their_limits_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "| mem0 | 25.0 | 20.0 | 5.0 | 5 | 3 of 3 |" in run(monkeypatch, LIMITS)


def test_a_protocol_beyond_its_limit_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError) as error:
        run(monkeypatch, {"MCP": 12.1})
    assert str(error.value) == "MCP adds 12.1 ms to a search (p50); the limit is 12 ms."


def test_another_ranking_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="Rankings of mem0 differ"):
        run(monkeypatch, {}, same=2)
