# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Intervals, verdicts, when there are rounds enough, and what others do beside a burst."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from harness import interleaved, intervals, runner
from harness.interleaved import Foreign, Order, Precision
from harness.report import verdict
from harness.scenario import Dataset, Point


def _noisy(centre: float, rounds: int, spread: float = 0.05) -> list[float]:
    return list(np.random.default_rng(7).normal(centre, spread, rounds))


def test_the_interval_holds_the_median_and_narrows_with_rounds() -> None:
    few, many = (intervals.ratio(_noisy(1.1, rounds)) for rounds in (9, 200))
    for found in (few, many):
        assert found.low <= found.median <= found.high
    assert many.width < few.width / 2
    assert many.excludes_one
    assert intervals.ratio(_noisy(1.1, 9)) == few, "the same values give the same interval"


def test_the_interval_is_right_nineteen_times_in_twenty() -> None:
    random = np.random.default_rng(3)
    runs = [intervals.ratio(list(random.lognormal(0, 0.1, 15))) for _ in range(200)]
    hit = sum(found.low <= 1 <= found.high for found in runs)
    assert 180 <= hit <= 200


def test_one_value_is_its_own_interval() -> None:
    assert intervals.of_median([0.99], 0.9) == (0.99, 0.99)


def test_less_confidence_is_a_narrower_interval() -> None:
    low, high = intervals.of_median(_noisy(1.1, 20), 0.9)
    wide_low, wide_high = intervals.of_median(_noisy(1.1, 20), 0.99)
    assert wide_low < low < high < wide_high


def test_too_few_rounds_have_no_interval() -> None:
    found = intervals.ratio([1.5, 1.6])
    assert not found.excludes_one
    assert "no interval" in str(found)


def test_collapsed_rounds_are_counted() -> None:
    found = intervals.ratio([1.0, 1.1, 0.9, 1.0, 0.3, 0.4])
    assert (found.collapsed, found.worst) == (2, 0.3)


@pytest.mark.parametrize(
    ("values", "more_is_better", "expected"),
    [
        (_noisy(1.2, 30, 0.02), True, verdict.BETTER),
        (_noisy(1.2, 30, 0.02), False, verdict.WORSE),
        (_noisy(0.8, 30, 0.02), True, verdict.WORSE),
        ([0.99, 1.0, 1.01] * 20, True, verdict.EQUAL_TO),
        (_noisy(1.0, 9, 0.2), True, verdict.UNKNOWN),
        ([1.5, 1.5], True, verdict.UNKNOWN),
    ],
)
def test_verdict(values: list[float], more_is_better: bool, expected: str) -> None:
    assert verdict.judge(intervals.ratio(values), more_is_better=more_is_better) == expected


def test_rounds_end_when_every_interval_is_narrow() -> None:
    precision = Precision(width=0.02, minutes=1, rounds=9)
    narrow, wide = _noisy(1.1, 50, 0.01), _noisy(1.1, 50, 0.2)
    assert interleaved.enough([narrow, narrow], precision)
    assert not interleaved.enough([narrow, wide], precision)
    assert not interleaved.enough([narrow[:8]], precision)


class _Process:
    """What Foreign and Order ask of a server."""

    def processor_seconds(self) -> float:
        return 0.0


def test_each_order_comes() -> None:
    servers = [_Process() for _ in range(3)]
    order = Order(seed=1)
    seen = {tuple(map(id, order.shuffled(servers))) for _ in range(100)}  # type: ignore[arg-type]
    assert len(seen) == 6


def test_what_another_process_uses_is_foreign() -> None:
    busy = [sys.executable, "-c", "while True: pass"]
    with subprocess.Popen(busy) as other:
        with Foreign(_Process()) as foreign:  # type: ignore[arg-type]
            time.sleep(0.5)
        other.kill()
    # It has one processor, less what others take from it.
    assert foreign.share > 0.5 / (os.cpu_count() or 1)


def test_no_server_runs_while_data_directories_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """One directory that is missing has the others, which are copies of the same, made anew."""
    done = []

    class Server:
        def __init__(self, definition: Any, *_: Any) -> None:
            self.definition = definition

        def freeze(self) -> None:
            pass

    @contextlib.contextmanager
    def started(_: Any, server: Server, __: Any) -> Iterator[Server]:
        done.append("start")
        yield server

    monkeypatch.setattr(runner, "Server", Server)
    run = runner.Runner.__new__(runner.Runner)
    for name, value in {
        "_servers": [SimpleNamespace(name=name) for name in ("stock", "sluice", "other")],
        "_data": Path(),
        "_common": None,
        "_able": lambda session: session.points,
        "_provide": lambda *_: done.append("provide"),
        "_started": started,
        "_bursts": lambda *_: done.append("burst"),
    }.items():
        setattr(run, name, value)
    points = [Point(Dataset("data", 1), {"clients": 1}, 3)]
    run._interleave(SimpleNamespace(name="io"), points, 9)  # type: ignore[arg-type]
    assert done == ["provide"] * 3 + ["start"] * 3 + ["burst"]
