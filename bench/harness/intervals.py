# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Ratios of two servers in the same round: their median and how far it is known.

Rounds of one life of the servers are no independent evidence. A process keeps the memory it was
given, a data directory its place on the disk: two of the same server differ by up to 8 %, as long
as both live. So a life counts as one value, the median of its rounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
#: Lives, for an interval to speak of. Of fewer the bootstrap gives their range, and the range of
#: three values holds the median in 75 % of the cases, that of four in 88 %, that of five in 94 %.
LEAST = 5
#: Of the median: a round below it, or as far above, is no noise, but something to find out.
COLLAPSED = 0.5


@dataclass(frozen=True)
class Ratio:
    """Median of the lives' ratios, its interval (bootstrap, 95 %), and what was far off."""

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
        if self.lives < LEAST:
            return f"{self.median:.3f} [too few: no interval]"
        return f"{self.median:.3f} [{self.low:.3f} – {self.high:.3f}]"


def ratio(rounds: Sequence[float], lives: Sequence[float] | None = None) -> Ratio:
    """Of at least one round. With fewer than LEAST lives the interval is everything.

    lives: in which life each round was; None: each in one of its own, as in runs of old.
    """
    sample = np.asarray(rounds, dtype=float)
    of_lives = sample
    if lives is not None:
        life = np.asarray(lives)
        of_lives = np.array([np.median(sample[life == one]) for one in np.unique(life)])
    median = float(np.median(of_lives))
    low, high = -np.inf, np.inf
    if len(of_lives) >= LEAST:
        low, high = of_median(list(of_lives), CONFIDENCE)
    collapsed = int(((sample < COLLAPSED * median) | (sample > median / COLLAPSED)).sum())
    lowest, highest = float(sample.min()), float(sample.max())
    return Ratio(median, low, high, len(sample), len(of_lives), lowest, highest, collapsed)


def of_median(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Where that share of the medians of as many values drawn from these lies (bootstrap)."""
    if len(values) < 2:
        return float(values[0]), float(values[0])
    found = stats.bootstrap(
        (np.asarray(values, dtype=float),),
        np.median,
        confidence_level=confidence,
        n_resamples=5000,
        method="percentile",
        rng=np.random.default_rng(1),  # the same values give the same report
    ).confidence_interval
    return float(found.low), float(found.high)
