# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The policy laboratory: its list is the observatory's, its other policies do what they say."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import places

_READ, _CREATE, _ACCESS = range(3)  #: as in buf0lrustats.h
_EVICT = 4
_LENGTH = 7  #: of lru_record.cc
_RESTART = 6  #: of lru_simulate.cc
_EVENTS = 400_000
_POOL = 1500  #: pages

Lab = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    compiler = shutil.which("clang++-19") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("lab")
    flags = ["-O2", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{places.ROOT}"]
    sources = {
        "lab": [*(places.BENCH / "lru_lab").glob("lru_lab*.cc")],
        "simulate": [
            Path(__file__).with_name("lru_simulate.cc"),
            *(places.ROOT / "plugin" / "lru_stats").glob("lru_simulator*.cc"),
        ],
    }
    result = {name: folder / name for name in sources}
    for name, files in sources.items():
        subprocess.run([compiler, *flags, *files, "-o", result[name], "-lz"], check=True)
    return result


@pytest.fixture(scope="session")
def lab(programs: dict[str, Path]) -> Lab:
    def run(**parameters: object) -> dict[str, Any]:
        arguments = [f"{name}={value}" for name, value in parameters.items()]
        done = subprocess.run(
            [programs["lab"], *arguments], check=True, capture_output=True, text=True
        )
        return json.loads(done.stdout.splitlines()[-1])

    return run


@pytest.fixture(scope="session")
def trace() -> np.ndarray:
    """Page, milliseconds: a skewed load, ten accesses a millisecond."""
    random = np.random.default_rng(5)
    pages = (20_000 * random.random(_EVENTS) ** 4).astype(np.uint64)
    return np.stack([pages, np.arange(_EVENTS, dtype=np.uint64) // np.uint64(10)], axis=1)


@pytest.fixture(scope="session")
def recorded(trace: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As lru_record.cc writes it."""
    path = tmp_path_factory.mktemp("recorded") / "accesses.gz"
    records = trace.copy()
    records[:, 1] = records[:, 1] * np.uint64(1000) << np.uint64(3) | np.uint64(_ACCESS)
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(records.astype("<u8").tobytes())
    return path


@pytest.mark.parametrize("pct", [5, 37, 95])
@pytest.mark.parametrize("time", [0, 20, 1000])
def test_its_list_is_that_of_the_observatory(
    lab: Lab,
    programs: dict[str, Path],
    trace: np.ndarray,
    recorded: Path,
    tmp_path: Path,
    pct: int,
    time: int,
) -> None:
    """Two programs, by the same rules, that share no code: the same reads, at constant length."""
    kinds = np.dtype([("page", "<u8"), ("ms", "<u4"), ("operation", "<u4")])
    events = np.zeros(_EVENTS + 1, kinds)
    events["operation"] = _ACCESS
    half = _EVENTS // 2
    order = np.concatenate([np.arange(half), [half], np.arange(half + 1, _EVENTS + 1)])
    rows = np.insert(trace, half, [0, 0], axis=0)[order]
    events["page"], events["ms"] = rows[:, 0], rows[:, 1]
    events["operation"][half] = _RESTART
    file = tmp_path / "trace"
    events.tofile(file)
    command = [programs["simulate"], file, str(2**29), str(2**32), f"{_POOL}:{_POOL}:{pct}:{time}"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said = json.loads(done.stdout.splitlines()[-1])["configs"][0]["reads"]
    result = lab(
        trace=recorded, frames=_POOL, pct=pct, time=time, free=0, warm=half, queries=_EVENTS - half
    )
    assert result["reads"] == pytest.approx(said, rel=0.002)


def test_a_list_as_long_as_it_was(lab: Lab, tmp_path: Path) -> None:
    """A list without an old part, of which no page moves, evicts in the order in which pages came.
    What was read is simulated exactly if the list gets shorter when it did, and not otherwise. Of two
    pages the first one comes first, though it is accessed last."""
    random = np.random.default_rng(7)
    pages: list[int] = []
    records = [(0, _LENGTH)]
    for pair in (600 * random.random((50_000, 2)) ** 2).astype(int).tolist():
        if len(pages) > 298:
            gone = int(random.integers(1, 200))
            records += [(old, _EVICT) for old in pages[:gone]]
            del pages[:gone]
        for page in pair:
            if page not in pages:
                pages.append(page)
                records.append((page, _READ))
        records += [(page, _ACCESS) for page in reversed(pair)]
    path = tmp_path / "accesses.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        words = [(page, n << 3 | kind) for n, (page, kind) in enumerate(records)]
        file.write(np.array(words, "<u8").tobytes())
    # So many frames that no page leaves the young part's head behind.
    settings = {"trace": path, "frames": 10**9, "warm": 10**9}
    result = lab(lengths=1, **settings)
    assert result["reads"] == result["recorded_reads"] > 1000
    assert lab(**settings)["reads"] < result["reads"] / 10


def test_nothing_reads_less_than_the_optimum(lab: Lab) -> None:
    load = {"rows": 300_000, "frames": 1000, "free": 0, "warm": 100_000, "queries": 100_000}
    least = lab(policy="belady", **load)["reads_query"]
    for policy in ("lru", "midpoint", "s3fifo", "tinylfu"):
        assert lab(policy=policy, **load)["reads_query"] > least, policy


def test_the_known_optimum_is_that_of_the_distribution(lab: Lab) -> None:
    """Of uniform references each policy misses what does not fit."""
    load = {"load": "uniform", "rows": 300_000, "frames": 1000, "free": 0}
    result = lab(policy="lru", warm=100_000, queries=100_000, **load)
    assert result["reads_query"] == pytest.approx(result["least"], rel=0.02)


def test_a_time_that_never_passes(lab: Lab) -> None:
    """Where the old part is replaced faster than innodb_old_blocks_time nothing is made young;
    the turnover mends that."""
    load = {"rows": 1_500_000, "frames": 4000, "warm": 200_000, "queries": 200_000}
    stock, turnover, lru = (
        lab(time=1000, **load),
        lab(time=1000, turn=50, **load),
        lab(policy="lru", **load),
    )
    assert stock["made_young"] < 0.0001 < turnover["made_young"]
    assert turnover["reads_query"] < 0.9 * lru["reads_query"] < stock["reads_query"]


def test_bad_input(programs: dict[str, Path]) -> None:
    for argument in ("no_such=1", "policy=none", "load=none_such", "pct"):
        done = subprocess.run([programs["lab"], argument], capture_output=True, check=False)
        assert done.returncode == 2, argument
