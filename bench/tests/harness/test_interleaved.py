# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Intervals, verdicts, when there are rounds enough, and what others do beside a burst."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from harness import interleaved, intervals, runner
from harness.interleaved import Foreign, Order, Precision
from harness.measurement import Measurement
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


def test_the_interval_is_right_nineteen_times_in_twenty() -> None:
    """Although lives are added until two of them are narrow, and some lives are cut short."""
    random = np.random.default_rng(3)
    hits = 0
    for _ in range(100):
        lives = np.repeat(np.arange(20), random.integers(1, 4, 20))
        figures = random.normal(1, 0.02, (2, 20))[:, lives] + random.normal(
            0, 0.03, (2, len(lives))
        )
        for enough in range(6, 21):
            taken = lives < enough
            found = [intervals.ratio(list(one[taken]), list(lives[taken])) for one in figures]
            if all(one.width <= 0.05 for one in found):
                break
        hits += sum(one.low <= 1 <= one.high for one in found)
    assert 186 <= hits <= 198


@pytest.mark.parametrize(("lives", "left_out"), [(6, 0), (8, 0), (9, 1), (11, 1), (12, 2)])
def test_the_interval_reaches_from_one_life_to_another(lives: int, left_out: int) -> None:
    values = sorted(_noisy(1.1, lives))
    found = intervals.ratio(values[::-1])
    assert (found.low, found.high) == (values[left_out], values[-1 - left_out])


def test_collapsed_rounds_are_counted() -> None:
    found = intervals.ratio([1.0, 1.1, 0.9, 1.0, 0.3, 0.4])
    assert (found.collapsed, found.lowest) == (2, 0.3)
    # The other server collapsed, or a latency did.
    found = intervals.ratio([1.0, 1.1, 0.9, 1.0, 1.0, 2.4])
    assert (found.collapsed, found.highest) == (1, 2.4)


@pytest.mark.parametrize(
    ("values", "more_is_better", "expected"),
    [
        (_noisy(1.2, 30, 0.02), True, verdict.BETTER),
        (_noisy(1.2, 30, 0.02), False, verdict.WORSE),
        (_noisy(0.8, 30, 0.02), True, verdict.WORSE),
        ([0.99, 1.0, 1.01] * 20, True, verdict.EQUAL_TO),
        (_noisy(1.0, 9, 0.2), True, verdict.UNKNOWN),
        ([1.5, 1.5], True, verdict.UNKNOWN),
        # Clear of 1, by however little.
        ([1.005, 1.01, 1.015] * 20, False, verdict.WORSE),
    ],
)
def test_verdict(values: list[float], more_is_better: bool, expected: str) -> None:
    assert verdict.judge(intervals.ratio(values), more_is_better=more_is_better) == expected


def test_rounds_end_when_every_interval_is_narrow() -> None:
    precision = Precision(width=0.02, minutes=1, rounds=9)
    narrow, wide = _noisy(1.1, 50, 0.01), _noisy(1.1, 50, 0.2)
    few = intervals.ratio(narrow[:8])
    assert interleaved.enough([intervals.ratio(narrow)] * 2, precision)
    assert not interleaved.enough([intervals.ratio(narrow), intervals.ratio(wide)], precision)
    assert not interleaved.enough([few], precision)


def test_what_a_process_or_its_directory_is_worse_by_is_no_finding() -> None:
    """Two of the same server: in each life one of them is some percent slower."""
    random = np.random.default_rng(5)
    found = []
    for _ in range(40):
        lives = np.repeat(np.arange(6), 3)
        rounds = random.normal(1, 0.05, 6)[lives] + random.normal(0, 0.03, 18)
        naive = intervals.ratio(list(rounds))
        honest = intervals.ratio(list(rounds), list(lives))
        found.append((naive.excludes_one, honest.excludes_one))
    claims, honest_claims = (sum(one) for one in zip(*found, strict=True))
    assert honest_claims <= 5 < claims
    assert honest.rounds == 18
    assert honest.lives == 6


@pytest.mark.parametrize("lives", [1, 2, 4, 5])
def test_rounds_of_few_lives_have_no_interval(lives: int) -> None:
    """Their range is no interval of 95 %: that of five holds the median in 94 % of the cases."""
    rounds = np.linspace(1.5, 1.6, 3 * lives)
    found = intervals.ratio(list(rounds), list(np.repeat(np.arange(lives), 3)))
    assert not found.excludes_one
    assert "no interval" in str(found)


def test_each_server_comes_to_each_directory() -> None:
    places = [interleaved.moved_on("abc", life) for life in range(1, 7)]
    assert places[0] == list("abc")
    for server in range(3):
        assert [place[server] for place in places].count("a") == 2
    assert all(sorted(place) == list("abc") for place in places)


class _Process:
    """What Foreign and Order ask of a server."""

    def processor_seconds(self) -> float:
        return 0.0


def test_each_order_comes() -> None:
    servers = [_Process() for _ in range(3)]
    order = Order(seed=1)
    seen = {tuple(map(id, order.shuffled(servers))) for _ in range(100)}  # type: ignore[arg-type]
    assert len(seen) == 6


def test_who_had_the_last_burst_is_not_first() -> None:
    servers: list[Any] = [_Process() for _ in range(3)]
    order, seen = Order(seed=1), set()
    last: Any = None
    for _ in range(100):
        drawn = order.shuffled(servers, after=last)
        assert drawn[0] is not last
        assert sorted(map(id, drawn)) == sorted(map(id, servers))
        seen.add(tuple(map(id, drawn)))
        last = drawn[-1]
    assert len(seen) == 6
    assert order.shuffled(servers[:1], after=servers[0]) == servers[:1]


def test_a_verdict_names_the_worst_round_and_what_disturbed_it() -> None:
    rows = [
        (server, number, 1, figure, value)
        for server, factor in (("stock", 1.0), ("sluice", 1.2))
        for number in range(1, 6)
        for figure, value in (
            ("throughput", factor * (100 if (server, number) != ("sluice", 2) else 40)),
            ("latency_p99", 2.5 if (server, number) == ("sluice", 3) else 1.0),
            ("foreign_share", 0.3 if number == 4 else 0.01),
        )
    ]
    rows.append(("sluice", 5, 1, "empty_runs", 2))
    figures = pd.DataFrame(rows, columns=["server", "round", "clients", "figure", "value"])
    point = Point(Dataset("data", 1), {"clients": 1}, 3)
    scenario = SimpleNamespace(name="io", points=lambda: [point])
    table = verdict.table(scenario, figures, ["stock", "sluice"], "stock")  # type: ignore[arg-type]
    shown = table.set_index("figure")
    assert shown["worst round"].to_dict() == {"throughput": "0.480", "latency_p99": "2.500"}
    remarks = shown["remark"]
    assert remarks["throughput"] == remarks["latency_p99"]
    assert remarks["throughput"] == (
        "1 rounds below half of it or above twice; 1 rounds beside others; "
        "1 rounds repeated, as nothing got done"
    )


def test_what_another_process_uses_is_foreign() -> None:
    busy = [sys.executable, "-c", "print(flush=True)\nwhile True: pass"]
    with subprocess.Popen(busy, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with Foreign(_Process()) as foreign:  # type: ignore[arg-type]
            time.sleep(0.5)
        other.kill()
    # It has one processor, less what others take from it.
    assert foreign.share > 0.5 / (os.cpu_count() or 1)


class _Server:
    """What the runner asks of a server that is up."""

    running = True

    def __init__(self, definition: Any, home: Path, *_: Any) -> None:
        self.definition, self.home, self.name = definition, home, definition.name

    def freeze(self) -> None:
        pass

    thaw = freeze


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[runner.Runner, list[Any]]:
    """A runner whose servers do nothing, and the list of what it had them do."""
    done: list[Any] = []

    @contextlib.contextmanager
    def started(_: Any, server: _Server, __: Any) -> Iterator[_Server]:
        done.append(("start", server.name, server.home.parent.name))
        yield server

    def burst(session: Any, server: _Server, point: Point, life: int) -> None:
        done.append(("burst", server.name, session.round, life))
        into = Measurement()
        into.figure("throughput", 100, "1/s")
        into.figure("processor_time", 50, "us")
        into.figure("life", life, "start")
        made._save(session, point, into)

    monkeypatch.setattr(runner, "Server", _Server)
    monkeypatch.setattr(interleaved, "SETTLE", 0)
    monkeypatch.setattr(runner, "read_once", lambda home: done.append(("read", home.parent.name)))
    made = runner.Runner.__new__(runner.Runner)
    for name, value in {
        "_run": SimpleNamespace(path=tmp_path),
        "_servers": [
            SimpleNamespace(name=name, data_of=source)
            for name, source in (("stock", None), ("sluice", "stock"), ("other", None))
        ],
        "_data": Path("data"),
        "_common": None,
        "_precision": Precision(),
        "_able": lambda session: session.points,
        "_provide": lambda *_: done.append("provide"),
        "_started": started,
        "_burst": burst,
    }.items():
        setattr(made, name, value)
    return made, done


_IO = SimpleNamespace(name="io", warm_up=lambda *_: None)


def test_no_server_runs_while_data_directories_are_made(
    run: tuple[runner.Runner, list[Any]],
) -> None:
    """One directory that is missing has the others, which are copies of the same, made anew."""
    made, done = run
    points = [Point(Dataset("data", 1), {"clients": 1}, 3, compared=False)]
    made._interleave(_IO, points, 9)  # type: ignore[arg-type]
    assert done[:3] == ["provide"] * 3
    assert done[3:6] == [("read", name) for name in ("stock", "sluice", "other")]
    assert [what[0] for what in done[6:]] == ["start"] * 3 + ["burst"] * 3


def test_a_directory_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "data" / "sbtest").mkdir(parents=True)
    (tmp_path / "data" / "sbtest" / "sbtest1.ibd").write_bytes(bytes(3 << 20))
    before = psutil.Process().io_counters().read_chars
    interleaved.read_once(tmp_path)
    assert psutil.Process().io_counters().read_chars - before >= 3 << 20


def test_servers_start_anew_on_the_directory_of_the_next(
    run: tuple[runner.Runner, list[Any]],
) -> None:
    made, done = run
    points = [Point(Dataset("data", 1), {"clients": clients}, 3) for clients in (1, 16)]
    made._interleave(_IO, points, 18)  # type: ignore[arg-type]
    starts = [what[1:] for what in done if what[0] == "start"]
    assert starts == 3 * [
        *(("stock", "stock"), ("sluice", "sluice"), ("other", "other")),
        *(("stock", "sluice"), ("sluice", "stock"), ("other", "other")),
    ]
    bursts = {what[1:] for what in done if what[0] == "burst"}
    assert bursts == {
        (name, number, (number + 2) // 3)
        for name in ("stock", "sluice", "other")
        for number in range(1, 19)
    }


def test_a_run_that_is_continued_goes_on_with_the_next_life(
    run: tuple[runner.Runner, list[Any]],
) -> None:
    made, done = run
    points = [Point(Dataset("data", 1), {"clients": 1}, 3)]
    made._interleave(_IO, points, 18)  # type: ignore[arg-type]
    done.clear()
    made._interleave(_IO, points, 21)  # type: ignore[arg-type]
    assert {what[2:] for what in done if what[0] == "burst"} == {(19, 7), (20, 7), (21, 7)}


def test_a_server_that_fails_is_asked_no_more(run: tuple[runner.Runner, list[Any]]) -> None:
    made, done = run
    failed: list[str] = []

    def warm_up(server: _Server, _: Point) -> None:
        if server.name == "other":
            raise RuntimeError("it cannot")

    made._failed = lambda _, __, reason: failed.append(reason)  # type: ignore[method-assign]
    points = [Point(Dataset("data", 1), {"clients": 1}, 3)]
    made._interleave(SimpleNamespace(name="io", warm_up=warm_up), points, 9)  # type: ignore[arg-type]
    assert failed == ["RuntimeError: it cannot"]
    assert {what[1] for what in done if what[0] == "burst"} == {"stock", "sluice"}


def test_copies_are_on_disk_before_a_server_reads_them(
    run: tuple[runner.Runner, list[Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made, done = run
    del made._provide  # type: ignore[attr-defined]
    made._data = tmp_path

    class Filled(_Server):
        def create(self) -> None:
            self.binlog_directory = self.home / "binlog"
            self.binlog_directory.mkdir(parents=True)

        def start(self, _: Any) -> None:
            pass

        def stop(self) -> None:
            pass

    copytree = shutil.copytree
    monkeypatch.setattr(runner, "Server", Filled)
    monkeypatch.setattr(made, "_note", lambda _: None, raising=False)
    monkeypatch.setattr(shutil, "copytree", lambda *paths: (done.append("copy"), copytree(*paths)))
    monkeypatch.setattr(os, "sync", lambda: done.append("sync"))
    session = SimpleNamespace(scenario=SimpleNamespace(name="io", prepare=lambda *_: None))
    progress = SimpleNamespace(begin=lambda _: None, end=lambda _: None)
    dataset = Dataset("data", 1)
    sluice = Filled(made._servers[1], tmp_path / "sluice" / "data", None)  # type: ignore[arg-type]
    made._provide(session, sluice, dataset, progress)  # type: ignore[arg-type]
    assert set(done[:-1]) == {"copy"}
    assert done[-1] == "sync"
