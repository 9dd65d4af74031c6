"""Layout of a memory's neighbours on a circle."""

import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 680, 300
REACH_X, REACH_Y = 150, 116  # from the middle to a neighbour
MAX_NAME_WIDTH = 26  # letters of a name; a Chinese one is as wide as two
MAX_SPOTS = 14


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePosition:
    """A neighbour with its point, the position of its label, and its name."""

    x: int
    y: int
    label_x: int
    label_y: int
    anchor: str
    name: str
    line_x: int
    line_y: int
    line: str
    outward: bool


def place_on_circle(neighbours: Sequence[tuple[str, str, bool]]) -> list[NodePosition]:
    """Place neighbours, given as text, kind of edge, and whether the edge leads to them."""
    visible_names = neighbours[:MAX_SPOTS]
    return [_build_position(i, len(visible_names), *each) for i, each in enumerate(visible_names)]


def _build_position(i: int, number: int, text: str, line: str, outward: bool) -> NodePosition:  # noqa: FBT001 - a datum
    angle = 2 * math.pi * (i + 0.5) / number - math.pi / 2
    dx, dy = math.cos(angle), math.sin(angle)
    x, y = round(WIDTH / 2 + REACH_X * dx), round(HEIGHT / 2 + REACH_Y * dy)
    side = 1 if dx >= 0 else -1
    return NodePosition(
        x=x,
        y=y,
        label_x=x + 10 * side,
        label_y=y + 4,
        anchor="start" if side > 0 else "end",
        name=shorten_name(text),
        line_x=round(WIDTH / 2 + REACH_X * dx * 0.55),
        line_y=round(HEIGHT / 2 + REACH_Y * dy * 0.55),
        line=line,
        outward=outward,
    )


def shorten_name(text: str) -> str:
    """Truncate a text to the available width."""
    remaining_width, shortened = MAX_NAME_WIDTH, ""
    for letter in " ".join(text.split()):
        remaining_width -= 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if remaining_width < 0:
            return shortened + "…"
        shortened += letter
    return shortened
