"""Wilson confidence intervals. Pure."""

import math
from dataclasses import dataclass

Z = 1.959963984540054  # 95 %


@dataclass(frozen=True, slots=True)
class Interval:
    """Wilson's score interval of `hits` among `total`."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        return self.hits / self.total if self.total else 0.0

    @property
    def low(self) -> float:
        return self._bounds()[0]

    @property
    def high(self) -> float:
        return self._bounds()[1]

    def _bounds(self) -> tuple[float, float]:
        """Of nothing, everything may be true."""
        n, p = self.total, self.share
        if not n:
            return 0.0, 1.0
        middle = p + Z * Z / (2 * n)
        spread = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        below = 1 + Z * Z / n
        low = 0.0 if not self.hits else max(0.0, (middle - spread) / below)
        high = 1.0 if self.hits == n else min(1.0, (middle + spread) / below)
        return low, high
