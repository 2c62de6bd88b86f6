# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The LRU simulator of lru_stats: exact when it sees all pages, close when it sees a sample."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness import places

READ, CREATE, ACCESS, FORGET, EVICT, LOWER, RESTART, CONFIGS, PRINT, FOLLOW = range(10)
FADE, AWAITED = 10, 11
ALL = 2**32
RECORD = np.dtype([("page", "<u8"), ("ms", "<u4"), ("operation", "<u4")])
SPACE = 7 << 32  # pages of the traces are in this tablespace, if in no other

Result = dict[str, Any]
Trace = np.ndarray


@dataclass(frozen=True)
class Config:
    pages: int
    pct: int = 37
    time: int = 1000
    curr_size: int | None = None
    turnover: int = 0

    @property
    def size(self) -> int:
        return self.pages + 100 if self.curr_size is None else self.curr_size

    def __str__(self) -> str:
        return f"{self.pages}:{self.size}:{self.pct}:{self.time}:{self.turnover}"


@dataclass
class Plain:
    """InnoDB's list as a Python list, head first, after buf0lru.cc and buf0buf.ic. Each page
    stands for several, of which one is seen."""

    config: Config
    several: int = 1
    pages: list[int] = field(default_factory=list)
    midpoint: int | None = None  # index of LRU_old
    access_time: dict[int, int | None] = field(default_factory=dict)
    clock_of: dict[int, int] = field(default_factory=dict)
    clock: int = 0
    full: bool = False
    reads: int = 0
    came: int = 0
    marks: list[int] = field(default_factory=list)
    now: int = 0

    def __post_init__(self) -> None:
        self.ratio = max(51, min(1024, self.config.pct * 1024 // 100))
        self.capacity = self.config.pages // self.several
        self.min_len = 512 // self.several
        self.quarter = self.config.size * (1024 - self.ratio) // (1024 * 4)

    def adjust(self) -> None:
        length = len(self.pages) * self.several
        wanted = min(length * self.ratio // 1024, length - 25)
        while (len(self.pages) - self.midpoint) * self.several + 20 < wanted:
            self.midpoint -= 1
        while (len(self.pages) - self.midpoint) * self.several > wanted + 20:
            self.midpoint += 1

    def remove(self, page: int) -> None:
        index = self.pages.index(page)
        if index == self.midpoint:
            self.midpoint -= 1
        del self.pages[index]
        if len(self.pages) < self.min_len:
            self.midpoint = None
            return
        if index < self.midpoint:
            self.midpoint -= 1
        self.adjust()

    def add(self, page: int, *, old: bool) -> None:
        if not old or len(self.pages) < self.min_len:
            self.pages.insert(0, page)
            self.clock_of[page] = self.clock
            if self.midpoint is not None:
                self.midpoint += 1
        else:
            self.pages.insert(self.midpoint + 1, page)
        if len(self.pages) == self.min_len:
            self.midpoint = 0
        if len(self.pages) >= self.min_len:
            self.adjust()

    def leave(self, page: int) -> None:
        self.remove(page)
        del self.access_time[page], self.clock_of[page]
        self.clock += self.several

    def enter(self, page: int, time: int | None, *, old: bool) -> None:
        if len(self.pages) == self.capacity:
            self.leave(self.pages[-1])
            self.full = True
        self.access_time[page] = time
        self.clock_of[page] = 0
        self.add(page, old=old)
        if self.midpoint is None:
            return
        self.came += 1
        if self.came >= (len(self.pages) - self.midpoint) // 8:
            self.came = 0
            self.marks.append(self.now)

    def wait(self) -> int:
        if not self.config.turnover or len(self.marks) < 9:
            return self.config.time
        turnover = self.marks[-1] - self.marks[-9]
        return min(self.config.time, max(1, turnover * self.config.turnover // 100))

    def is_too_old(self, page: int, now: int) -> bool:
        if self.clock == 0:
            return False
        old = self.midpoint is not None and self.pages.index(page) >= self.midpoint
        knows = self.config.turnover and len(self.marks) >= 9
        unearned = knows and self.clock_of[page] == 0
        if self.config.time and (old or unearned):
            return now - self.access_time[page] >= self.wait()
        return not self.clock < self.clock_of[page] + self.quarter

    def event(self, operation: int, page: int, now: int) -> None:
        self.now = max(self.now, now)
        present = page in self.access_time
        if operation == FORGET:
            if present:
                self.leave(page)
        elif operation == CREATE:
            if not present:
                self.enter(page, now, old=False)
        else:
            if not present:
                self.enter(page, None, old=True)
                self.reads += self.full
            if operation == ACCESS:
                if self.access_time[page] is None:
                    self.access_time[page] = now
                if self.is_too_old(page, now):
                    self.remove(page)
                    self.add(page, old=False)


Run = Callable[..., list[Result]]


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Runs the simulator on a trace."""
    compiler = shutil.which("clang++-19") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    directory = tmp_path_factory.mktemp("lru")
    program = directory / "lru_simulate"
    sources = [
        Path(__file__).with_name("lru_simulate.cc"),
        *(places.ROOT / "plugin" / "lru_stats").glob("lru_simulator*.cc"),
    ]
    flags = ["-O2", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{places.ROOT}"]
    subprocess.run([compiler, *flags, *sources, "-o", program], check=True)

    def run_program(
        trace: Trace,
        *configs: Iterable[Config],
        threshold: int = ALL,
        memory: int = 2**29,
    ) -> list[Result]:
        path = directory / "trace"
        trace.tofile(path)
        lists = [",".join(map(str, one)) for one in configs]
        command = [program, path, str(memory), str(threshold), *lists]
        out = subprocess.run(command, check=True, capture_output=True, text=True, timeout=1800)
        return [json.loads(line) for line in out.stdout.splitlines()]

    return run_program


def events(
    pages: np.ndarray, operation: int | np.ndarray = ACCESS, *, per_ms: float = 1.0
) -> Trace:
    trace = np.zeros(len(pages), RECORD)
    trace["page"] = pages.astype(np.uint64) + np.uint64(SPACE)
    trace["ms"] = 1000 + np.arange(len(pages)) / per_ms
    trace["operation"] = operation
    return trace


def control(operation: int, argument: int = 0) -> Trace:
    return np.array([(argument, 0, operation)], RECORD)


def zipfian(rng: np.random.Generator, pages: int, length: int, skew: float) -> np.ndarray:
    weights = np.cumsum(1 / np.arange(1, pages + 1) ** skew)
    ranks = np.searchsorted(weights, rng.random(length) * weights[-1])
    return rng.permutation(pages)[ranks]


def uniform(rng: np.random.Generator, pool: int, length: int) -> Trace:
    return events(rng.integers(0, 2 * pool, length), per_ms=length / 20000)


def zipf(rng: np.random.Generator, pool: int, length: int) -> Trace:
    return events(zipfian(rng, 6 * pool, length, 0.9), per_ms=length / 20000)


def scans(rng: np.random.Generator, pool: int, length: int) -> Trace:
    """Point selects; in half of the time also a scan of a large table, with read-ahead of 64
    pages and three accesses to each page."""
    points = zipfian(rng, 2 * pool, length, 0.8)
    operation = np.full(length, ACCESS)
    block, unit = length // 8, 256
    table = 0
    for start in range(block, length, 2 * block):
        for i in range(start, min(start + block, length - unit), 2 * unit):
            extent = 4 * pool + (table + np.arange(64)) % (5 * pool)
            table += 64
            points[i : i + unit] = np.concatenate([extent, np.repeat(extent, 3)])
            operation[i : i + 64] = READ
    return events(points, operation, per_ms=length / 20000)


def repeated_scan(rng: np.random.Generator, pool: int, length: int) -> Trace:
    """A table of 1.5 times the pool again and again; one row in 8 is looked up elsewhere."""
    pages = np.arange(length) % (pool * 3 // 2)
    elsewhere = rng.random(length) < 1 / 8
    pages[elsewhere] = 2 * pool + rng.integers(0, pool // 4, elsewhere.sum())
    return events(pages, per_ms=length / 20000)


def everything(rng: np.random.Generator, pool: int, length: int) -> Trace:
    """All operations, and pages that come in bunches."""
    trace = zipf(rng, pool, length)
    trace["operation"] = rng.choice(
        [READ, CREATE, ACCESS, FORGET], length, p=[0.15, 0.05, 0.75, 0.05]
    )
    repeated = np.flatnonzero(rng.random(length - 1) < 0.3)
    trace["page"][repeated + 1] = trace["page"][repeated]
    return trace


TRACES = [uniform, zipf, scans, repeated_scan]
POOL = 64000  # for what is sampled
SIZES = [POOL // 4, POOL // 2, POOL, 2 * POOL, 4 * POOL, 8 * POOL]
WHAT_IF = [Config(pages, time=time) for pages in SIZES for time in (0, 1000)] + [
    Config(POOL, pct=pct) for pct in (5, 95)
]


def page_hash(page: int) -> int:
    """Finalizer of MurmurHash3, upper half."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        page = (page ^ page >> 33) * factor % 2**64
    return (page ^ page >> 33) >> 32


@pytest.mark.parametrize(
    ("make", "several"),
    [*((make, 1) for make in [*TRACES, everything]), (zipf, 4), (scans, 4), (everything, 4)],
)
def test_exact(run: Run, make: Callable[..., Trace], several: int) -> None:
    """With all pages, and with a sample, of which there is one simulation only."""
    configs = [
        Config(1000),
        Config(1000, time=0),
        Config(1000, pct=5),
        Config(1000, pct=95),
        Config(1000, pct=95, time=0),
        Config(1000, turnover=50),
        Config(1000, pct=95, turnover=10),
        Config(700, time=200, curr_size=2500),
        Config(300),
        Config(300, time=0),
        Config(512),
        Config(513, pct=5, time=0),
        Config(1800, curr_size=600),
    ]
    configs = [
        Config(one.pages * several, one.pct, one.time, one.size * several, one.turnover)
        for one in configs
    ]
    trace = make(np.random.default_rng(1), 1000 * several, 12000 * several)
    sampled = [page_hash(page) < ALL // several for page in trace["page"].tolist()]
    parts = np.array_split(trace[sampled], 24)
    printed = run(
        np.concatenate([np.append(part, control(PRINT)) for part in parts]),
        configs,
        threshold=ALL // several,
    )

    plain = [Plain(config, several) for config in configs]
    for number, (part, result) in enumerate(zip(parts, printed, strict=False)):
        for page, ms, operation in part.tolist():
            for one in plain:
                one.event(operation, page, ms)
        for one, simulated in zip(plain, result["configs"], strict=True):
            where = (str(one.config), number)
            assert simulated["sampled_reads"] == one.reads, where
            assert simulated["reads"] == one.reads * several, where
            assert simulated["filled"] == pytest.approx(len(one.pages) / one.capacity), where
            assert simulated["evicting"] == one.full, where
            assert several > 1 or simulated["variance"] == 0, where
    assert sum(one.reads > 0 for one in plain) >= 9


def test_the_traces_tell_configurations_apart(run: Run) -> None:
    """Else the test above would say little."""
    configs = [Config(1000), Config(1000, time=0), Config(1000, pct=5), Config(1000, pct=95)]
    different = set()
    for make in TRACES:
        trace = make(np.random.default_rng(1), 1000, 12000)
        different.add(len({one["reads"] for one in run(trace, configs)[-1]["configs"]}))
    assert max(different) == len(configs)


@dataclass
class Long:
    """A trace, the second half of which is counted, and what the full simulation says."""

    trace: Trace
    full: list[Result]
    accesses: int

    def in_space(self, space: int) -> Trace:
        """The same with other pages, so that others are sampled."""
        trace = self.trace.copy()
        page = trace["operation"] <= FORGET
        trace["page"][page] += np.uint64(space << 32)
        return trace


LENGTH = 1_500_000


@pytest.fixture(scope="session", params=TRACES, ids=lambda make: make.__name__)
def long(run: Run, request: pytest.FixtureRequest) -> Long:
    first, second = np.array_split(request.param(np.random.default_rng(2), POOL, LENGTH), 2)
    trace = np.concatenate([first, control(RESTART), second])
    full = run(trace, WHAT_IF)[-1]
    assert full["threshold"] == ALL
    return Long(trace, full["configs"], int((second["operation"] == ACCESS).sum()))


def errors(long: Long, result: Result) -> dict[str, float]:
    """Estimated hit rate less that of the full simulation, percentage points."""
    return {
        str(config): -100 * (one["reads"] - truth["reads"]) / long.accesses
        for config, truth, one in zip(WHAT_IF, long.full, result["configs"], strict=True)
    }


def test_a_sample_is_close(run: Run, long: Long) -> None:
    result = run(long.trace, WHAT_IF, threshold=ALL // 8)[-1]
    difference = errors(long, result)
    assert max(map(abs, difference.values())) <= 2, difference
    assert result["threshold"] == ALL // 8


def test_several_samples(run: Run, long: Long) -> None:
    """Smaller ones: not far off as a rule, in either direction, and the truth within two
    standard errors mostly."""
    differences, covered = [], []
    for space in range(1, 9):
        result = run(long.in_space(space), WHAT_IF, threshold=ALL // 16)[-1]
        differences.append(list(errors(long, result).values()))
        for truth, one in zip(long.full, result["configs"], strict=True):
            if truth["reads"]:
                bar = 2 * math.sqrt(one["variance"])
                covered.append(abs(one["reads"] - truth["reads"]) <= bar)
                assert bar < 0.08 * long.accesses
    square = np.square(differences).mean(axis=0)
    assert np.sqrt(square).max() <= 2, square
    assert np.abs(np.mean(differences, axis=0)).max() <= 1, differences
    assert np.mean(covered) >= 0.85


def test_lowering_the_threshold_midway(run: Run, long: Long) -> None:
    half = LENGTH // 2
    parts = [long.trace[:half]]  # ends before counting restarts
    for i, share in enumerate((8, 10, 16)):
        parts.append(control(LOWER, ALL // share))
        parts.append(long.trace[half + i * half // 3 : half + (i + 1) * half // 3])
    parts.append(long.trace[half + half // 3 * 3 :])
    result = run(np.concatenate(parts), WHAT_IF, threshold=ALL // 4)[-1]
    difference = errors(long, result)
    assert max(map(abs, difference.values())) <= 2, difference
    assert result["threshold"] == ALL // 16


def test_memory_is_kept_within_the_budget(run: Run, long: Long) -> None:
    budget = 4 << 20
    half = LENGTH // 2
    trace = np.concatenate([long.trace[:half], control(PRINT), long.trace[half:]])
    before, result = run(trace, WHAT_IF, memory=budget)
    assert before["memory"] <= budget
    assert budget * 0.7 <= result["memory"] <= budget
    assert before["threshold"] >= result["threshold"]
    assert ALL / 128 < result["threshold"] < ALL / 4
    assert budget / 24 <= result["pages"] * len(WHAT_IF)  # bytes of a page in a list
    difference = errors(long, result)
    assert max(map(abs, difference.values())) <= 2, difference


def test_lists_are_cut_to_their_new_length(run: Run) -> None:
    trace = uniform(np.random.default_rng(8), 1000, 4000)
    lowered = [np.append(control(LOWER, ALL // n), control(PRINT)) for n in range(1, 20)]
    results = run(np.concatenate([trace, *lowered]), [Config(1000)])
    assert results[0]["pages"] == 1000
    kept = [one["pages"] - int(1000 / n + 0.5) for n, one in enumerate(results[:-1], 1)]
    assert max(kept) == 0 > min(kept) >= -60


def test_hardly_any_memory(run: Run) -> None:
    trace = uniform(np.random.default_rng(3), 1000, 20000)
    for memory in (0, 30_000, 60_000):
        result = run(trace, [Config(1000), Config(20), Config(1)], memory=memory)[-1]
        assert result["pages"] <= memory / 48
        assert memory == 0 or result["memory"] <= memory


def test_tiny_samples_do_no_harm(run: Run) -> None:
    """Lists of a few pages, and thresholds that end at 0."""
    trace = everything(np.random.default_rng(4), 1000, 40000)
    configs = [Config(pages, pct=pct) for pages in (1, 100, 600, 4000) for pct in (5, 37, 95)]
    parts = np.array_split(trace, 12)
    mixed = [np.append(part, control(LOWER, 2**32 >> 2 * i)) for i, part in enumerate(parts)]
    result = run(np.concatenate([*mixed, control(LOWER, 0), trace]), configs)[-1]
    assert result["pages"] == 0
    assert all(math.isfinite(one["reads"]) for one in result["configs"])


def lists(results: list[Result]) -> list[Result]:
    """The last result without the variance, to which the other configurations contribute."""
    for one in results[-1]["configs"]:
        del one["variance"]
    return results[-1]["configs"]


def test_equal_configurations_go_on(run: Run) -> None:
    trace = everything(np.random.default_rng(5), 1000, 30000)
    first, second = np.array_split(trace, 2)
    kept = [Config(1000), Config(700, time=0)]
    before = [kept[0], Config(400), kept[1]]
    after = [Config(1500), kept[1], Config(300, pct=5), kept[0], kept[0]]
    for threshold in (ALL, ALL // 4):
        want = lists(run(trace, kept, threshold=threshold))
        fresh = lists(run(second, after, threshold=threshold))
        changed = np.concatenate([first, control(CONFIGS), second])
        got = lists(run(changed, before, after, threshold=threshold))
        assert [got[3], got[1]] == want
        # A configuration that is there twice is not one that goes on.
        assert [got[0], got[2], got[4]] == [fresh[0], fresh[2], fresh[4]]
        assert want[0] != fresh[3]


def test_more_configurations_in_the_same_memory(run: Run) -> None:
    trace = uniform(np.random.default_rng(6), POOL, 200_000)
    first, second = np.array_split(trace, 2)
    changed = np.concatenate([first, control(PRINT), control(CONFIGS), control(PRINT), second])
    budget = 1 << 20
    few, at_once, many = run(changed, WHAT_IF[:2], WHAT_IF, memory=budget)
    assert max(one["memory"] for one in (few, at_once, many)) <= budget
    assert few["threshold"] > at_once["threshold"] >= many["threshold"]
    assert at_once["configs"][0]["reads"] == few["configs"][0]["reads"] > 0


def test_other_and_more_configurations_in_the_same_memory(run: Run) -> None:
    """A list that goes had an old part, and fewer pages fit than are held."""
    trace = uniform(np.random.default_rng(6), POOL, 200_000)
    first, second = np.array_split(trace, 2)
    gone = Config(POOL, pct=5)
    after = [config for config in WHAT_IF if config != gone]
    changed = np.concatenate([first, control(PRINT), control(CONFIGS), second])
    few, many = run(changed, [*WHAT_IF[:2], gone], after, memory=1 << 20)
    assert few["threshold"] > many["threshold"] > 0


def test_evidence_fades(run: Run) -> None:
    """To half, then to nothing: reads and their error in the same way, and lists stay."""
    trace = zipf(np.random.default_rng(10), 4000, 60_000)
    parts = [control(RESTART), trace, control(PRINT), control(FADE, 500), control(PRINT)]
    results = run(
        np.concatenate([trace, *parts, trace, control(FADE, 0)]),
        [Config(4000), Config(2000)],
        threshold=ALL // 4,
    )
    for whole, half, none in zip(*(one["configs"] for one in results), strict=True):
        assert whole["reads"] > 1000
        assert half["reads"] == pytest.approx(whole["reads"] / 2)
        assert half["variance"] == pytest.approx(whole["variance"] / 4)
        assert half["sampled_reads"] == whole["sampled_reads"] // 2
        assert half["filled"] == whole["filled"]
        assert none["reads"] == none["variance"] == 0


def served(
    pages: np.ndarray, curr: int, *, kept: int, per_ms: float, dropped: int = 0
) -> tuple[Trace, int]:
    """What a server does that makes `kept` free pages at once whenever it has none, and the reads
    of its second half. Every 5000 accesses, `dropped` pages are created that are of no other use,
    and go with their table a little later."""
    server = Plain(Config(curr, time=1000, curr_size=curr))
    server.capacity = 2 * curr  # evicts nothing by itself
    records: list[tuple[int, int, int]] = []
    reads = 0
    table: list[int] = []

    def make_room(now: int) -> None:
        if len(server.pages) == curr:
            for last in server.pages[: -kept - 1 : -1]:
                server.leave(last)
                records.append((last, now, EVICT))

    for number, page in enumerate((pages.astype(np.uint64) + np.uint64(SPACE)).tolist()):
        now = 1000 + int(number / per_ms)
        if dropped and number % 5000 == 2000:
            table = [2 * SPACE + number * 1000 + i for i in range(dropped)]
            for new in table:
                make_room(now)
                server.event(CREATE, new, now)
                records.append((new, now, CREATE))
        if dropped and number % 5000 == 2500:
            for old in table:
                if old in server.access_time:
                    server.leave(old)
                    records.append((old, now, FORGET))
        if page not in server.access_time:
            make_room(now)
            records.append((page, now, READ))
            reads += number >= len(pages) // 2
        server.event(ACCESS, page, now)
        records.append((page, now, ACCESS))
        if number % 5000 == 0:
            records.append((len(server.pages), curr, FOLLOW))
        if number == len(pages) // 2:
            records.append((0, 0, RESTART))
    return np.array(records, RECORD), reads


@pytest.mark.parametrize("again", [False, True])
def test_a_page_that_was_read_ahead(run: Run, *, again: bool) -> None:
    """A simulated pool that loses it before its first access reads it once: with that pool the
    server would not have read it ahead. If the server has to read it again, both reads count."""
    pages, batch = 1000, 200  # more than an old part of 5 % holds
    trace = [np.array([(1, 4 * pages, FOLLOW)], RECORD)]
    for start in range(0, 20 * pages, batch):
        extent = np.arange(start, start + batch)
        trace.append(events(extent, READ))
        if again:
            trace += [events(extent, EVICT), events(extent, READ)]
        trace.append(events(extent, ACCESS))
    result = run(np.concatenate(trace), [Config(pages, pct=5), Config(4 * pages)])[-1]
    small, large = (one["reads"] for one in result["configs"])
    assert 15 * pages < large < 17 * pages
    if again:
        assert small > 30 * pages
    else:
        assert 18 * pages < small < 20 * pages


@pytest.mark.parametrize(
    ("before_the_access", "reads"),
    [([READ], 4), ([READ, AWAITED], 8), ([READ, AWAITED, EVICT, READ], 8)],
    ids=["ahead", "awaited", "awaited, then ahead"],
)
def test_a_page_that_was_read_for_a_scan(
    run: Run, before_the_access: list[int], reads: int
) -> None:
    """CHECK TABLE and COUNT(*) read pages without an access to them. Threads wait for these reads,
    as they would with a smaller pool: what that loses before the first access is read twice."""
    pages = 1000
    table = np.arange(4 * pages)
    trace = [np.array([(8 * pages, 8 * pages, FOLLOW)], RECORD)]
    trace += [events(table, operation) for operation in [*before_the_access, ACCESS]]
    result = run(np.concatenate(trace), [Config(pages), Config(8 * pages)])[-1]
    small, _ = (one["reads"] for one in result["configs"])
    assert (reads - 2) * pages < small <= reads * pages


@pytest.mark.parametrize("several", [1, 4])
def test_a_list_is_as_long_as_the_servers(run: Run, several: int) -> None:
    """The boundary of the old part moves as the list gets longer and shorter, and pages become
    young by that. A list of constant length, as long as the server's is on average, errs."""
    curr, kept = 2000, 250
    rng = np.random.default_rng(9)
    trace, reads = served(zipfian(rng, 5 * curr, 150_000, 0.8), curr, kept=kept, per_ms=20)
    (follows,) = run(trace, [Config(curr, curr_size=curr)], threshold=ALL // several)
    (constant,) = run(
        trace[trace["operation"] != FOLLOW],
        [Config(curr - kept // 2, curr_size=curr)],
        threshold=ALL // several,
    )
    error, without = (abs(one["configs"][0]["reads"] / reads - 1) for one in (follows, constant))
    print(f"reads {reads}, error {error:.4f}, of a constant length {without:.4f}")
    assert error < (0.01 if several == 1 else 0.05)
    assert without > 0.1


@pytest.mark.parametrize("several", [1, 4])
def test_pages_that_go_with_their_table(run: Run, several: int) -> None:
    """Whoever is not told of them takes the server's list for longer than it is."""
    curr, kept = 2000, 250
    rng = np.random.default_rng(11)
    pages = zipfian(rng, 5 * curr, 150_000, 0.8)
    trace, reads = served(pages, curr, kept=kept, per_ms=20, dropped=300)
    config = [Config(curr, curr_size=curr)]
    (told,) = run(trace, config, threshold=ALL // several)
    (untold,) = run(trace[trace["operation"] != FORGET], config, threshold=ALL // several)
    error, without = (abs(one["configs"][0]["reads"] / reads - 1) for one in (told, untold))
    print(f"reads {reads}, error {error:.4f}, untold {without:.4f}")
    assert error < (0.02 if several == 1 else 0.06)
    assert without > 0.1
