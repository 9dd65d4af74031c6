"""Chart data: bars of sections, steps of decisions, columns of days. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.reports.call_report import SECTIONS

WIDTH, HEIGHT = 1_000, 200  # units of the SVG view box
OTHER_COLOUR = 8  # the colour of all remaining parts


@dataclass(frozen=True, slots=True, kw_only=True)
class BarSegment:
    name: str
    colour: int
    tokens: int
    share: float  # of the call, in percent
    x: float
    width: float


def build_bar(tokens: Mapping[str, int], full_width: int) -> list[BarSegment]:
    """Return the sections of a call as segments; `whole` is the value of the full width."""
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
class Step:
    action: str
    before: int | None
    after: int | None
    left: float  # widths of the remaining and of the removed tokens
    went: float
    fits: bool
    details: Mapping[str, Any]


def build_steps(decisions: Sequence[Mapping[str, Any]], budget: int) -> tuple[list[Step], float]:
    """Return every decision, and the position of the budget."""
    maximum = max([budget, *(decision.get("tokens_before", 0) for decision in decisions)])
    steps = [_build_step(decision, budget, maximum) for decision in decisions]
    return steps, round(WIDTH * budget / maximum, 2)


def _build_step(decision: Mapping[str, Any], budget: int, maximum: int) -> Step:
    before, after = decision.get("tokens_before"), decision.get("tokens_after")
    own_keys = {"action", "tokens_before", "tokens_after"}
    remaining = min(before or 0, after or 0)
    return Step(
        action=str(decision["action"]),
        before=before,
        after=after,
        left=round(WIDTH * remaining / maximum, 2),
        went=round(WIDTH * abs((before or 0) - (after or 0)) / maximum, 2),
        fits=after is None or after <= budget,
        details={name: value for name, value in decision.items() if name not in own_keys},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One part of a day; None is the sum of the remaining parts."""

    name: str | None
    colour: int
    tokens: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    x: float
    width: float
    pieces: Sequence[Layer]


def build_columns(
    days: Sequence[Mapping[str | None, int]], names: Sequence[str]
) -> tuple[list[Column], int]:
    """Return one column per day, and the tokens of the full height."""
    maximum = max((sum(day.values()) for day in days), default=0)
    column_width = WIDTH / max(len(days), 1)
    gap = min(4.0, column_width / 5)
    width = round(column_width - gap, 2)
    layers = [_build_layers(day, names, maximum) for day in days]
    columns = [
        Column(x=round(index * column_width, 2), width=width, pieces=pieces)
        for index, pieces in enumerate(layers)
    ]
    return columns, maximum


def _build_layers(day: Mapping[str | None, int], names: Sequence[str], maximum: int) -> list[Layer]:
    y, layers = float(HEIGHT), []
    for colour, name in [*enumerate(names, 1), (OTHER_COLOUR, None)]:
        if tokens := day.get(name, 0):
            height = HEIGHT * tokens / maximum
            y -= height
            place = {"y": round(y, 2), "height": round(height, 2)}
            layers.append(Layer(name=name, colour=colour, tokens=tokens, **place))
    return layers
