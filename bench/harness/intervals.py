# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Ratios of two servers in the same round: their median and how far it is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

CONFIDENCE = 0.95
LEAST = 3  #: rounds, for an interval to speak of
COLLAPSED = 0.5  #: of the median: a round below it is no noise, but something to find out


@dataclass(frozen=True)
class Ratio:
    """Median of the rounds' ratios, its interval (bootstrap, 95 %), and what was far off."""

    median: float
    low: float
    high: float
    rounds: int
    worst: float  #: the lowest of all rounds
    collapsed: int  #: rounds below half of the median

    @property
    def width(self) -> float:
        return self.high - self.low

    @property
    def excludes_one(self) -> bool:
        return not self.low <= 1 <= self.high

    def __str__(self) -> str:
        if self.rounds < LEAST:
            return f"{self.median:.3f} [{self.rounds} rounds: no interval]"
        return f"{self.median:.3f} [{self.low:.3f} – {self.high:.3f}]"


def ratio(values: Sequence[float]) -> Ratio:
    """Of at least one value. With fewer than LEAST the interval is everything."""
    sample = np.asarray(values, dtype=float)
    median = float(np.median(sample))
    low, high = -np.inf, np.inf
    if len(sample) >= LEAST:
        low, high = of_median(values, CONFIDENCE)
    collapsed = int((sample < COLLAPSED * median).sum())
    return Ratio(median, low, high, len(sample), float(sample.min()), collapsed)


def of_median(values: Sequence[float], confidence: float) -> tuple[float, float]:
    """Where that share of the medians of as many rounds drawn from these lies (bootstrap)."""
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
