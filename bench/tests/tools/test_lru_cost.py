# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The summary of lru_cost.py, without a server."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.errors import BenchError
from tools import lru_cost


def test_the_summary_tells_loads_and_figures_apart() -> None:
    frame = pd.DataFrame(
        {
            "load": ["cached-select"] * 6 + ["io-update"],
            "throughput": [0.99, 1.01] * 3 + [0.5],
            "cpu": [1.01, 1.03] * 3 + [2.0],
            "sampling_rate": [0.25] * 6 + [1.0],
        }
    )
    lines = lru_cost.summary(frame).splitlines()
    shown = [line.partition(" (")[0].split(maxsplit=2) for line in lines]
    assert [line for line in shown if line and line[0] in ("cached-select", "io-update")] == [
        ["cached-select", "throughput", "1.000 [0.990 – 1.010]"],
        ["cached-select", "cpu", "1.020 [1.010 – 1.030]"],
        ["io-update", "throughput", "0.500 [too few: no interval]"],
        ["io-update", "cpu", "2.000 [too few: no interval]"],
    ]


def test_a_sample_is_ours_wherever_our_function_is_in_its_stack() -> None:
    samples = [
        ["clock_gettime", "buf_lru_trace", "buf_read_page"],
        ["lru_stats::Lru_simulator::read", "start_thread"],
        ["btr_cur_search_to_nth_level"],
        ["buf_lru_flusher_get_low"],
    ]
    assert lru_cost.share_of_samples(samples) == 50


def test_no_samples_are_no_figure() -> None:
    with pytest.raises(BenchError, match="no samples"):
        lru_cost.share_of_samples([])
