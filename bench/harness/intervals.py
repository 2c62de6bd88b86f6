# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Ratios of two servers in the same round: their median and how far it is known.

Rounds of one life of the servers are no independent evidence. A process keeps the memory it was
given, a data directory its place on the disk: two of the same server differ by up to 8 %, as long
as both live. So a life counts as one value, the median of its rounds. So does one that was cut
short: it is above the median as often as below, as the others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
#: Of the median: a round below it, or as far above, is no noise, but something to find out.
COLLAPSED = 0.5


@dataclass(frozen=True)
class Ratio:
    """Median of the lives' ratios, its interval (95 %, sign test), and what was far off."""

    median: float
    low: float
    high: float
    rounds: int
    lives: int
    lowest: float  #: of all rounds
    highest: float  #: of all rounds
    collapsed: int  #: rounds below half of the median or above twice as much

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def excludes_one(self) -> bool:
        return not self.low <= 1 <= self.high

    def __str__(self) -> str:
        if np.isinf(self.width):
            return f"{self.median:.3f} [too few: no interval]"
        return f"{self.median:.3f} [{self.low:.3f} – {self.high:.3f}]"


def ratio(rounds: Sequence[float], lives: Sequence[float] | None = None) -> Ratio:
    """Of at least one round. With fewer than six lives the interval is everything: even the range
    of five holds the median in no more than 94 % of the cases.

    lives: in which life each round was; None: each in one of its own, as in runs of old.
    """
    sample = np.asarray(rounds, dtype=float)
    of_lives = sample
    if lives is not None:
        life = np.asarray(lives)
        of_lives = np.array([np.median(sample[life == one]) for one in np.unique(life)])
    median = float(np.median(of_lives))
    low, high = -np.inf, np.inf
    found = stats.quantile_test(of_lives, p=0.5).confidence_interval(CONFIDENCE)
    if not np.isnan(found.low):
        low, high = float(found.low), float(found.high)
    collapsed = int(((sample < COLLAPSED * median) | (sample > median / COLLAPSED)).sum())
    lowest, highest = float(sample.min()), float(sample.max())
    return Ratio(median, low, high, len(sample), len(of_lives), lowest, highest, collapsed)
