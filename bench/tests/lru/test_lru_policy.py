# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The policy of the LRU flusher, on a model of the list, the disk and the threads."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import places

Result = dict[str, int]
Run = Callable[..., Result]


def compiled(name: str, folder: Path) -> Path:
    compiler = shutil.which("clang++-19") or shutil.which("c++")
    if compiler is None:
        pytest.skip("no C++ compiler")
    program = folder / name
    source = Path(__file__).with_name(f"{name}.cc")
    include = places.ROOT / "storage" / "innobase" / "include"
    flags = ["-O2", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{include}"]
    subprocess.run([compiler, *flags, source, "-o", program], check=True)
    return program


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    program = compiled("lru_policy", tmp_path_factory.mktemp("lru_policy"))

    def run_program(**parameters: float) -> Result:
        command = [program, *(f"{name}={value}" for name, value in parameters.items())]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return json.loads(out)

    return run_program


@pytest.mark.parametrize("rate", [1000, 5000, 20000, 50000])
def test_reads_pay_for_what_they_take_only(run: Run, rate: int) -> None:
    r = run(rate=rate)
    assert r["waits"] == 0 and r["self"] <= 2
    assert r["looked"] == r["evicted"], "each page that is looked at is evicted"
    assert r["evicted"] >= r["walks"] * r["target"] // 2 * 0.9, "half of the target a walk"
    assert r["wakeups"] <= r["taken"] / (r["low_water"] * 0.8) + 10


@pytest.mark.parametrize("dirty", [0.1, 0.5, 1])
def test_updates_do_not_wait_on_a_disk_that_keeps_up(run: Run, dirty: float) -> None:
    r = run(rate=20000, dirty=dirty)
    assert r["waits"] == 0 and r["self"] <= 2 and r["young_evicted"] == 0
    assert r["batch_pages"] >= 16 * r["batches"], "no small batches"
    assert r["looked"] <= 12 * r["evicted"]


def test_a_slow_disk_is_the_limit_not_the_flusher(run: Run) -> None:
    """Two batches of 64 pages in 15 ms are all this disk can do."""
    r = run(rate=20000, dirty=1, write=5000, sync=10000, pool=16384)
    assert r["dismissed"] == 0 and r["max_wait"] < 40000
    assert r["written"] > 0.9 * 2 * 64 / 0.020 * 1.5 * 0.5
    assert r["young_evicted"] == 0, "hot pages stay where they are"
    assert r["looked"] * 50e-9 < 0.05 * 2, "at most a twentieth of a processor for walking"


def test_writes_do_not_pile_up_without_the_doublewrite_file(run: Run) -> None:
    """No segment limits them."""
    r = run(rate=20000, dirty=1, write=100000, segments=10**6, pool=16384)
    assert 256 < r["most_in_flight"] < 512 + 128


@pytest.mark.parametrize("tail", [500, 2000, 2500])
def test_clean_pages_are_found_when_the_redo_log_hangs(run: Run, tail: int) -> None:
    r = run(tail_dirty=tail, log=-1)
    assert r["dismissed"] == 0 and r["written"] == 0
    assert r["max_wait"] <= 10000, "once, until the dirty pages are passed"
    assert r["waits"] <= 64 and r["late_waits"] == 0, "no second miss pays"
    assert r["young_evicted"] == 0


def test_clean_pages_are_found_when_writes_hang(run: Run) -> None:
    r = run(tail_dirty=1000, write=-1)
    assert r["dismissed"] == 0 and r["late_waits"] == 0 and r["max_wait"] <= 10000


@pytest.mark.parametrize("pool", [240, 384])
def test_a_thread_that_queues_up_during_a_walk_is_not_sent_away(run: Run, pool: int) -> None:
    """When that walk began, nothing was wanted: in a short list, nothing is done ahead."""
    r = run(pool=pool, tail_dirty=100, write=-1, off_core=500)
    assert r["waits"] > 0 and r["dismissed"] == 0


def test_what_others_write_is_waited_for(run: Run) -> None:
    """A checkpoint has the whole of a small pool under way, on a disk that takes its time."""
    r = run(pool=320, others_until=0.5, clients=4)
    assert r["waits"] > 0 and r["dismissed"] == 0
    assert r["walks"] < 1500 + r["taken"], "it does not poll"


def test_a_write_that_ends_during_a_walk_counts(run: Run) -> None:
    """That walk has passed by dirty pages, as the writer was busy, and pages that are clean now."""
    dirty = {"pool": 120, "tail_dirty": 120, "dirty": 1, "segment": 128}
    r = run(**dirty, rate=5000, clients=8, off_core=3000, write=500)
    assert r["waits"] > 0 and r["dismissed"] == 0


@pytest.mark.parametrize("disk", [{"rate": 5000}, {"rate": 20000, "log": 10000}])
def test_clean_pages_are_found_while_writes_complete_slowly(run: Run, disk: dict) -> None:
    """A page each millisecond: that is progress, and it serves nobody."""
    r = run(tail_dirty=2500, write=64000, **disk)
    assert r["dismissed"] == 0 and r["written"] > 1900
    assert r["max_wait"] <= 10000, "once, until the dirty pages are passed"
    assert r["waits"] <= 64 and r["late_waits"] == 0, "no second miss pays"
    assert r["young_evicted"] == 0


def test_pages_that_others_have_written_are_found(run: Run) -> None:
    """The flusher's writes hang, the whole of a large pool is dirty, and the checkpoint writes."""
    r = run(pool=300000, tail_dirty=300000, log=-1, clients=4, rate=10, cleaned_at=1.91)
    assert r["evicted"] > 0 and r["found_after"] <= 15000


def test_the_young_part_is_searched_in_the_end(run: Run) -> None:
    r = run(tail_dirty=8192 * 3 // 8, log=-1, rate=2000)
    assert r["dismissed"] == 0 and r["young_evicted"] > 0
    assert r["max_wait"] <= 250000 and r["late_waits"] == 0


def test_the_young_part_of_a_large_pool_is_searched_as_soon(run: Run) -> None:
    """Half a second, of which the walks along 400 000 pages take some part."""
    pages = 1 << 20
    r = run(pool=pages, tail_dirty=pages * 3 // 8, log=-1, rate=2000, seconds=4)
    assert r["dismissed"] == 0 and r["young_evicted"] > 0
    assert r["max_wait"] <= 500000


def test_hot_pages_stay_when_all_writes_are_complete_for_a_moment(run: Run) -> None:
    """All but the newest pages are dirty, and the evictor gets a processor when nothing is under
    way any more: what it has not found in the old part it does not take from the young one."""
    r = run(rate=30000, dirty=1, write=4000, segments=1, pool=16384, segment=128, off_core=4500)
    assert r["dismissed"] == 0 and r["young_evicted"] == 0
    assert r["written"] >= 20000, "the disk is the limit"


def test_nothing_to_be_had(run: Run) -> None:
    r = run(all_fixed=1, clients=1, seconds=0.1)
    assert r["evicted"] == 0 and r["gave_up"] > 0
    assert r["dismissed"] >= r["waits"] - 1, "nobody waits for what does not come"
    assert r["max_wait"] <= 1000
    r = run(all_fixed=1, clients=1, rate=100, seconds=1)
    assert r["walks"] <= r["waits"] + 32, "it sleeps until somebody misses a page"


def test_targets(run: Run) -> None:
    assert run(rate=100)["target"] == 128
    assert run(pool=65536, rate=20000)["target"] == pytest.approx(600, abs=60)
    assert run(pool=65536, rate=90000)["target"] == 1024, "what the settings allow"
    assert run(rate=90000, settings_rate=5000)["target"] == 512, "one page in 16"
    assert run(pool=320, rate=100, seconds=1)["target"] == 10, "a tiny pool"
    assert run(free_pages=50)["target"] == 50
    assert run(free_pages=100000)["target"] == 1024, "an eighth of the pool"
    assert run(settings_rate=1)["target"] <= 300


def test_small_segments_of_the_doublewrite_file(run: Run) -> None:
    r = run(rate=2000, dirty=1, segment=4)
    assert r["dismissed"] == 0 and r["written"] > 0.8 * 4 * r["batches"]
    assert r["taken"] >= 3900


def test_one_free_page(run: Run) -> None:
    r = run(free_pages=1, dirty=0.5)
    assert r["taken"] >= 19000 and r["dismissed"] == 0


def test_a_short_list_is_left_alone(run: Run) -> None:
    r = run(pool=200, rate=100, seconds=1)
    assert r["evicted"] <= r["waits"] + r["gave_up"], "nothing ahead of demand"


def test_a_pause_ends_digging(run: Run) -> None:
    """All of the old part is dirty and the disk stands still: at most a tenth of a processor."""
    r = run(pool=65536, tail_dirty=65536 * 3 // 8, log=-1, rate=0, free_pages=128)
    assert r["looked"] * 50e-9 < 0.1 * 2


@pytest.mark.parametrize("part", [0.5, 0.9])
@pytest.mark.parametrize("rate", [200, 20000])
def test_compressed_pages_go_only_where_they_lie_before_frames(
    run: Run, part: float, rate: int
) -> None:
    """Pages without a frame bring nothing, and while others read a walk in vain waits for them."""
    r = run(pool=65536, zip=part, reading=1, rate=rate, seconds=0.2)
    assert r["dismissed"] == 0
    assert r["evicted"] <= r["taken"] + r["target"], "no more than is wanted"
    assert r["zip_evicted"] <= r["evicted"] * part / (1 - part) * 1.2


@pytest.mark.parametrize("redo", [0.002, 0.01, 0.03])
@pytest.mark.parametrize("hot", [10, 1000])
def test_hot_pages_are_written_as_often_as_the_redo_log_asks(
    run: Run, redo: float, hot: int
) -> None:
    seconds = 20 / redo
    r = run(hot=hot, redo=redo, seconds=seconds, upstream=hot)
    assert r["most_age"] <= 75
    assert r["left"] >= 0.95 * seconds, "upstream's number is hardly ever needed"
    assert r["written"] <= max(3.5 * 20 * hot, 1.1 * seconds), "or a page a second"


def test_nothing_is_written_for_a_young_redo_log(run: Run) -> None:
    assert run(hot=1000, redo=0.001, seconds=90)["written"] == 0


def test_what_is_above_the_limit_of_dirty_pages_is_written(run: Run) -> None:
    r = run(hot=1000, redo=0.001, seconds=50, most_dirty=900)
    assert r["written"] == pytest.approx(100 * 50, abs=200)


def test_upstream_holds_where_little_is_evicted(run: Run) -> None:
    r = run(hot=1000, redo=0.001, seconds=50, evicted=100, upstream=7)
    assert r["left"] <= 50 and r["written"] >= 7 * 20
    r = run(hot=1000, redo=0.001, seconds=50, evicted=0, upstream=7)
    assert r["left"] == 0 and r["written"] == 7 * 50


def test_pages_that_are_evicted_in_lumps_count_in_between(run: Run) -> None:
    r = run(hot=1000, redo=0.01, seconds=500, evicted=3000, lumps=1, upstream=1000)
    assert r["left"] >= 490


@pytest.mark.parametrize("burst", [0.05, 0.1, 0.2])
@pytest.mark.parametrize("burst_from", [0, 45, 200])
def test_upstream_holds_when_the_redo_log_grows_too_fast(
    run: Run, burst: float, burst_from: int
) -> None:
    """The average rate is that of the last minute: at first it is 0."""
    r = run(hot=1000, redo=0, burst=burst, burst_from=burst_from, seconds=300, upstream=1000)
    assert r["most_age"] <= 80


def test_the_page_cleaner_leaves_pages_while_they_are_evicted(tmp_path: Path) -> None:
    program = compiled("lru_preflush", tmp_path)

    def last(*calls: str) -> str:
        out = subprocess.run([program, *calls], check=True, capture_output=True, text=True)
        return out.stdout.splitlines()[-1]

    scan = ["1:20000:1000"] * 60
    assert last(*scan) == "left"
    assert last(*scan, "1:0:1000") == "left", "evictions come in lumps"
    assert last(*scan, *["1:0:1000"] * 30) == "upstream's"
    # The page cleaner does not ask while nothing is written.
    assert last(*scan, "3600:0:1000") == "upstream's"
