"""Wilson confidence intervals. Pure."""

import math
from dataclasses import dataclass

Z_SCORE_95 = 1.959963984540054  # 95 %


@dataclass(frozen=True, slots=True)
class Interval:
    """Wilson's score interval of `hits` among `total`; without data, from 0 to 1."""

    hits: int
    total: int

    @property
    def share(self) -> float:
        return self.hits / self.total if self.total else 0.0

    @property
    def low(self) -> float:
        return max(0.0, self._bound(-1)) if self.hits else 0.0

    @property
    def high(self) -> float:
        return min(1.0, self._bound(1)) if self.hits < self.total else 1.0

    def _bound(self, sign: int) -> float:
        n, p = self.total, self.share
        middle = p + Z_SCORE_95 * Z_SCORE_95 / (2 * n)
        spread = Z_SCORE_95 * math.sqrt(p * (1 - p) / n + Z_SCORE_95 * Z_SCORE_95 / (4 * n * n))
        return (middle + sign * spread) / (1 + Z_SCORE_95 * Z_SCORE_95 / n)
