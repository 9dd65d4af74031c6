"""Geometry of charts in SVG units: bars of sections, steps of decisions, columns. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.reports.call_report import SECTIONS

WIDTH, HEIGHT = 1_000, 200  # units of the SVG view box


@dataclass(frozen=True, slots=True, kw_only=True)
class BarSegment:
    name: str
    colour: int
    tokens: int
    share: float  # of the call, in percent
    x: float
    width: float


def build_bar(tokens: Mapping[str, int], full_width: int) -> list[BarSegment]:
    """Return the sections of a call as segments; `full_width` is the tokens of a full bar."""
    total, x, segments = sum(tokens[name] for name in SECTIONS), 0.0, []
    for colour, name in enumerate(SECTIONS, 1):
        width = WIDTH * tokens[name] / full_width if full_width else 0.0
        share = 100 * tokens[name] / total if total else 0.0
        place = {"x": round(x, 2), "width": round(width, 2)}
        segments.append(
            BarSegment(name=name, colour=colour, tokens=tokens[name], share=share, **place)
        )
        x += width
    return segments


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionStep:
    action: str
    before: int | None
    after: int | None
    remaining_width: float
    removed_width: float
    fits: bool
    details: Mapping[str, Any]


def build_steps(
    decisions: Sequence[Mapping[str, Any]], budget: int
) -> tuple[list[DecisionStep], float]:
    """Return every decision, and the position of the budget."""
    maximum = max([budget, *(decision.get("tokens_before", 0) for decision in decisions)])
    steps = [_build_step(decision, budget, maximum) for decision in decisions]
    return steps, round(WIDTH * budget / maximum, 2)


def _build_step(decision: Mapping[str, Any], budget: int, maximum: int) -> DecisionStep:
    before, after = decision.get("tokens_before"), decision.get("tokens_after")
    own_keys = {"action", "tokens_before", "tokens_after"}
    remaining = min(before or 0, after or 0)
    return DecisionStep(
        action=str(decision["action"]),
        before=before,
        after=after,
        remaining_width=round(WIDTH * remaining / maximum, 2),
        removed_width=round(WIDTH * abs((before or 0) - (after or 0)) / maximum, 2),
        fits=after is None or after <= budget,
        details={name: value for name, value in decision.items() if name not in own_keys},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    x: float
    y: float
    width: float
    height: float


def build_columns(values: Sequence[int]) -> list[Column]:
    """Return one column per value; the largest has the full height."""
    maximum = max(values, default=0) or 1
    column_width = WIDTH / max(len(values), 1)
    width = round(column_width - min(4.0, column_width / 5), 2)
    columns = []
    for index, value in enumerate(values):
        height = HEIGHT * value / maximum
        place = {"x": round(index * column_width, 2), "y": round(HEIGHT - height, 2)}
        columns.append(Column(**place, width=width, height=round(height, 2)))
    return columns
