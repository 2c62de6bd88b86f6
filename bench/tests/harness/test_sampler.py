# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Rates and stalls from samples of a counter."""

from __future__ import annotations

import threading

import pandas as pd
import pytest

from harness import sampler


def counts(per_tenth: list[float]) -> pd.DataFrame:
    """Samples each tenth of a second, with that growth between them."""
    total = pd.Series([0.0, *per_tenth]).cumsum()
    return pd.DataFrame({"time": [place / 10 for place in range(len(total))], "count": total})


def test_a_stall_between_two_seconds_is_seen_whole() -> None:
    # From 0.5 s to 1.5 s nothing: no second of the clock is empty, one window is.
    samples = counts([100.0] * 5 + [0.0] * 10 + [100.0] * 10)
    windows = sampler.window_rates(samples)
    assert windows["rate"].min() == pytest.approx(0)
    assert windows["rate"].iloc[0] == pytest.approx(500)
    assert sampler.longest_below(sampler.rates(samples), 10) == pytest.approx(1.0)


def test_a_late_sample_counts_with_its_time() -> None:
    samples = pd.DataFrame({"time": [0.0, 0.1, 2.1, 2.2], "count": [0, 100, 110, 210]})
    rates = sampler.rates(samples)
    assert list(rates["rate"]) == pytest.approx([1000, 5, 1000])
    assert sampler.longest_below(rates, 100) == pytest.approx(2.0)


def test_the_longest_of_several_stalls() -> None:
    samples = counts([100.0] * 3 + [0.0] * 2 + [100.0] + [0.0] * 4 + [100.0] * 2)
    assert sampler.longest_below(sampler.rates(samples), 10) == pytest.approx(0.4)
    assert sampler.longest_below(sampler.rates(counts([100.0] * 5)), 10) == 0


def test_an_error_of_the_thread_reaches_the_caller() -> None:
    def read() -> tuple[float]:
        raise OSError("no such directory")

    with sampler.Sampler(read, ["count"]) as broken:
        pass
    with pytest.raises(OSError, match="no such directory"):
        broken.frame()


def test_it_looks_once_more_at_the_end() -> None:
    found = [0.0]
    first = threading.Event()

    def read() -> tuple[float]:
        first.set()
        return (found[0],)

    with sampler.Sampler(read, ["count"], interval=3600) as samples:
        assert first.wait(600)
        found[0] = 1.0
    assert samples.frame()["count"].iloc[-1] == 1
