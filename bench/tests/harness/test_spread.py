# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Medians never stand without their range; ratios are round by round."""

from __future__ import annotations

import pandas as pd
import pytest

from harness.report import spread


@pytest.fixture
def frame() -> pd.DataFrame:
    rows = [
        ("stock", 1, 8, 1000.0),
        ("stock", 2, 8, 2000.0),
        ("stock", 3, 8, 1500.0),
        ("sluice", 1, 8, 1500.0),
        ("sluice", 2, 8, 2000.0),
        ("sluice", 3, 8, 3000.0),
    ]
    table = pd.DataFrame(rows, columns=["server", "round", "clients", "value"])
    return table.assign(figure="throughput", unit="1/s")


def test_overview(frame: pd.DataFrame) -> None:
    table = spread.overview(frame, ["clients"], ["throughput"], ["stock", "sluice"])
    assert table["stock"].iloc[0] == "1 500 [1 000 – 2 000]"
    assert table["sluice"].iloc[0] == "2 000 [1 500 – 3 000]"


def test_ratios_are_of_the_same_round(frame: pd.DataFrame) -> None:
    table = spread.ratios(frame, ["clients"], ["throughput"], ["stock", "sluice"], "stock")
    # 1.5, 1.0 and 2.0: not the ratio of the medians, which is 1.333.
    assert table["sluice"].iloc[0] == "1.500 [1.000 – 2.000]"
    assert "stock" not in table


def test_one_round_says_so(frame: pd.DataFrame) -> None:
    table = spread.overview(frame[frame["round"] == 1], [], ["throughput"], ["stock", "absent"])
    assert table["stock"].iloc[0] == "1 000 [one round]"
    assert table["absent"].iloc[0] == "–"


def test_a_base_of_zero_gives_no_ratio(frame: pd.DataFrame) -> None:
    frame.loc[frame["server"] == "stock", "value"] = 0.0
    table = spread.ratios(frame, ["clients"], ["throughput"], ["stock", "sluice"], "stock")
    assert table["sluice"].iloc[0] == "–"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12345.6, "1/s", "12 346"),
        (0.12345, "s", "0.123"),
        (5, "files", "5"),
        (1.5, "ratio", "1.500"),
        (5 * 2**30, "bytes", "5 GiB"),
        (512, "bytes", "512 B"),
    ],
)
def test_numbers(value: float, unit: str, text: str) -> None:
    assert spread.number(value, unit) == text
