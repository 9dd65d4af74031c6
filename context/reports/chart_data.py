"""Tokens as they are drawn: bars of parts, and steps from before to after. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from context.reports.call_report import SECTIONS

WIDE, TALL = 1_000, 200  # units of a drawing
OTHERS = 8  # the colour of what has none of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One part of a bar."""

    name: str
    colour: int
    tokens: int
    share: float  # of the call, in percent
    x: float
    width: float


def pieces(tokens: Mapping[str, int], whole: int) -> list[Piece]:
    """The sections of a call, side by side; `whole` is what the width of the drawing stands for."""
    total, x, drawn = sum(tokens[name] for name in SECTIONS), 0.0, []
    for colour, name in enumerate(SECTIONS, 1):
        width = WIDE * tokens[name] / whole if whole else 0.0
        share = 100 * tokens[name] / total if total else 0.0
        piece = Piece(
            name=name,
            colour=colour,
            tokens=tokens[name],
            share=share,
            x=round(x, 2),
            width=round(width, 2),
        )
        drawn.append(piece)
        x += width
    return drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One decision: what it was, what it did to the tokens, and what else is known of it."""

    action: str
    before: int | None
    after: int | None
    left: float  # of what is left, and of what went, in the drawing
    went: float
    fits: bool
    details: Mapping[str, Any]


def steps(decisions: Sequence[Mapping[str, Any]], budget: int) -> tuple[list[Step], float]:
    """Every decision, and where the budget stands in the drawing."""
    most = max([budget, *(each.get("tokens_before", 0) for each in decisions)], default=budget)
    return [_step(each, budget, most) for each in decisions], round(WIDE * budget / most, 2)


def _step(decision: Mapping[str, Any], budget: int, most: int) -> Step:
    before, after = decision.get("tokens_before"), decision.get("tokens_after")
    known = {"action", "tokens_before", "tokens_after"}
    kept = min(before or 0, after or 0)
    return Step(
        action=str(decision["action"]),
        before=before,
        after=after,
        left=round(WIDE * kept / most, 2),
        went=round(WIDE * abs((before or 0) - (after or 0)) / most, 2),
        fits=after is None or after <= budget,
        details={name: value for name, value in decision.items() if name not in known},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One part of a day, or for None the others together."""

    name: str | None
    colour: int
    tokens: int
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One day: its layers, the first at the foot."""

    x: float
    width: float
    pieces: Sequence[Layer]


def columns(
    days: Sequence[Mapping[str | None, int]], names: Sequence[str]
) -> tuple[list[Column], int]:
    """Days side by side in a drawing of WIDE by TALL, and the tokens that its height stands for."""
    most = max((sum(day.values()) for day in days), default=0)
    wide = WIDE / max(len(days), 1)
    gap = min(4.0, wide / 5)
    drawn = [
        Column(x=round(at * wide, 2), width=round(wide - gap, 2), pieces=_layers(day, names, most))
        for at, day in enumerate(days)
    ]
    return drawn, most


def _layers(day: Mapping[str | None, int], names: Sequence[str], most: int) -> list[Layer]:
    foot, found = float(TALL), []
    for colour, name in [*enumerate(names, 1), (OTHERS, None)]:
        if tokens := day.get(name, 0):
            height = TALL * tokens / most
            foot -= height
            layer = Layer(
                name=name, colour=colour, tokens=tokens, y=round(foot, 2), height=round(height, 2)
            )
            found.append(layer)
    return found
