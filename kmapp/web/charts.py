"""Charts as server-rendered SVG: stacked columns or lines over time, with their data as a table.

`static/js/charts.js` adds tooltips and lets people hide series; without JavaScript the chart and
its table are complete. Pure, apart from translated labels.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

WIDTH, HEIGHT = 1_000, 160  # units of the SVG view box
COLUMN_GAP = 0.2  # of a column's width
OTHER_COLOUR = 8  # the colour of all remaining parts
STEPS = (1, 2, 5, 10)  # ends of a scale, times a power of ten

Value = float | None  # None is unknown: a gap in a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One value for each label of its chart. `colour` is a number of the palette, from 1 to 8."""

    label: str
    values: Sequence[Value]
    colour: int
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float
    colour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    path: str  # of an SVG path
    points: str  # a path of the points without a neighbour, which a line would hardly show
    colour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Series over the same labels, such as days. `unit` is shown beside the title."""

    title: str
    labels: Sequence[str]
    series: Sequence[Series]
    kind: Literal["columns", "lines"] = "columns"
    unit: str = ""
    label_heading: str = ""
    id: str = ""

    @property
    def is_empty(self) -> bool:
        return not any(value for series in self.series for value in series.values)

    @property
    def maximum(self) -> float:
        """Return the end of the scale: a round number not below any column or point."""
        if self.kind == "columns":
            sums = [sum(value or 0 for value in row) for row in self._build_rows()]
            return round_up(max(sums, default=0))
        return round_up(max((v or 0 for series in self.series for v in series.values), default=0))

    @property
    def scale(self) -> list[float]:
        """Return the labels of the vertical axis, from the top."""
        return [self.maximum, self.maximum / 2, 0]

    @property
    def ends(self) -> list[str]:
        """Return the labels under the horizontal axis."""
        if len(self.labels) < 3:  # noqa: PLR2004
            return list(self.labels)
        return [self.labels[0], self.labels[len(self.labels) // 2], self.labels[-1]]

    @property
    def table(self) -> Iterator[tuple[str, tuple[Value, ...]]]:
        return zip(self.labels, self._build_rows(), strict=True)

    def rectangles(self) -> Iterator[Rectangle]:
        """Yield the parts of the columns, each column from the bottom."""
        width, maximum = WIDTH / max(len(self.labels), 1), self.maximum
        for index, row in enumerate(self._build_rows()):
            y = float(HEIGHT)
            for series, value in zip(self.series, row, strict=True):
                if value:
                    height = HEIGHT * value / maximum
                    y -= height
                    yield Rectangle(
                        x=round(width * (index + COLUMN_GAP / 2), 2),
                        y=round(y, 2),
                        width=round(width * (1 - COLUMN_GAP), 2),
                        height=round(height, 2),
                        colour=series.colour,
                    )

    def lines(self) -> Iterator[Line]:
        for series in self.series:
            steps = list(self._build_path(series.values))
            yield Line(
                path=" ".join(command for command, _ in steps),
                points=" ".join(command for command, is_alone in steps if is_alone),
                colour=series.colour,
            )

    def _build_path(self, values: Sequence[Value]) -> Iterator[tuple[str, bool]]:
        """Yield commands of a line with gaps at unknown values, and whether a point is alone."""
        width, maximum = WIDTH / max(len(values), 1), self.maximum
        neighbours = zip([None, *values], values, [*values[1:], None], strict=False)
        for index, (before, value, after) in enumerate(neighbours):
            if value is not None:
                x, y = width * (index + 0.5), HEIGHT * (1 - value / maximum)
                command = f"M{x:.2f} {y:.2f}h0" if before is None else f"L{x:.2f} {y:.2f}"
                yield command, before is None and after is None

    def _build_rows(self) -> Iterable[tuple[Value, ...]]:
        return zip(*(series.values for series in self.series), strict=True)


def round_up(value: float) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, … (or 0.5, 0.2, …) that is not below `value`."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next((step * power for step in STEPS if value <= step * power), 10 * power)
