# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Running sysbench, and reading what it says. The text is a real run's, with a stall of some
seconds in it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Self, cast

import pandas as pd
import pytest

from harness import sysbench
from harness.errors import BenchError
from harness.measurement import FIGURES, Measurement
from harness.server import Server

_OUTPUT = Path(__file__).with_name("sysbench-1.0.20.txt").read_text()


def test_summary() -> None:
    outcome = sysbench.parse(_OUTPUT)
    transactions = int(outcome.transactions)
    assert f"transactions:                        {transactions}" in _OUTPUT
    assert f"({outcome.per_second:.2f} per sec.)" in _OUTPUT


def test_seconds() -> None:
    seconds = sysbench.parse(_OUTPUT).seconds
    assert list(seconds["second"]) == list(range(1, 11))
    assert seconds["tps"].iloc[0] == 3227.42
    assert (seconds["tps"].iloc[5:9] == 0).all()


def test_percentiles_come_from_the_histogram() -> None:
    latency = sysbench.parse(_OUTPUT).latency_ms
    assert latency["p50"] <= latency["p95"] <= latency["p99"] <= latency["max"]
    # sysbench's own line says the 95th.
    (line,) = [line for line in _OUTPUT.splitlines() if "95th percentile:" in line]
    assert latency["p95"] == pytest.approx(float(line.split()[-1]), rel=0.03)


def test_percentiles_of_few_buckets() -> None:
    text = "Latency histogram (values are in milliseconds)\n"
    text += "  1.000 |********** 98\n  2.000 |* 1\n  9.000 | 1\n"
    assert sysbench.percentiles(text, (50, 98, 99, 100)) == {
        "p50": 1.0,
        "p98": 1.0,
        "p99": 2.0,
        "p100": 9.0,
    }


def test_a_run_without_a_summary_is_an_error() -> None:
    with pytest.raises(BenchError, match="without its summary"):
        sysbench.parse("FATAL: something\n")


def _server(monkeypatch: pytest.MonkeyPatch, done: list[float], seconds: list[float]) -> Server:
    """A server whose runs have so many transactions, and whose clock shows these seconds."""

    class Runs:
        def __init__(self, *_: object) -> None:
            pass

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def outcome(self) -> sysbench.Outcome:
            return sysbench.Outcome(done.pop(0), 4, {"p50": 1.0}, pd.DataFrame(), "")

    monkeypatch.setattr(sysbench, "Running", Runs)
    clock = iter(seconds)
    return cast(Server, SimpleNamespace(name="stock", processor_seconds=lambda: next(clock)))


def test_a_run_in_which_nothing_got_done_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    server = _server(monkeypatch, [0.0, 0.0, 7.0, *[0.0] * 9], [0.0] * 99)
    assert sysbench.run(server, sysbench.Load("x"), 1, 1).transactions == 7
    with pytest.raises(BenchError, match="stock: no transaction in 5 runs of 1 s"):
        sysbench.run(server, sysbench.Load("x"), 1, 1)


def test_processor_time_is_that_of_the_run_that_counts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Two runs in which nothing got done are counted; their processor time is nobody's."""
    server = _server(monkeypatch, [0.0, 0.0, 8.0], [0.0, 5.0, 9.0, 10.0])
    into = Measurement()
    sysbench.run_measured(server, sysbench.Load("x"), 1, 1, "statement", into)
    into.save(tmp_path / "round-1")
    figures = pd.read_csv(tmp_path / "round-1" / FIGURES).set_index("figure")["value"]
    assert (figures["empty_runs"], figures["throughput"]) == (2, 4)
    assert figures["processor_time"] == pytest.approx(1e6 / 8)
