# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The whole way on the server that is built: measure, interrupt, resume, report."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from harness import places
from harness.run_directory import load

_PURGE = ("purge=manual", "unlink=slow", "bigs=2", "size=8M", "cost=64")


class House:
    """The command line, with a work directory of its own."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "harness", *arguments],
            cwd=places.BENCH,
            env=os.environ | {"BENCH_WORK": str(self.work)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            # In a job in the background, a shell without job control has it ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )

    def run(self, *arguments: str) -> tuple[int, str]:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=3600)
        return process.returncode, output

    def servers_running(self) -> list[str]:
        """Command lines of processes that mention our directory."""
        found = []
        for file in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if f"--datadir={self.work}" in line:
                found.append(line)
        return found


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "work")


def test_servers_share_what_was_filled_and_a_size_of_the_data_is_kept(
    house: House, server_file: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.toml"
    other.write_text(server_file.read_text() + 'data_of = "built"\n')
    arguments = ["run", "--quick", "--scenarios", "io-select", "--rounds", "1", "--run", "one"]
    arguments += ["--seconds", "1", "--keep-data", "--servers", str(other), str(server_file)]
    variants = ["clients=1", "tables=2", "flush=O_DIRECT", "data_size=40M", "instances=2"]
    code, output = house.run(*arguments, "--variant", *variants)
    assert code == 0, output
    assert "io-select, built: filling" in output
    assert output.count("filling") == 1
    assert load(house.work / "results" / "one").remarks == []
    sizes = {file.stat().st_size for file in house.work.glob("data/*/*/data/sbtest/*.ibd")}
    assert len(sizes) == 1
    # Half of it, and what InnoDB extends ahead; by default it would be 64M each.
    assert 16 << 20 < sizes.pop() < 40 << 20


def test_bursts_alternate_between_servers_that_are_up_at_once(
    house: House, server_file: Path, tmp_path: Path
) -> None:
    """Rounds in random order until the intervals are narrow; the same command goes on."""
    stock = tmp_path / "stock.toml"
    stock.write_text(server_file.read_text())
    built = tmp_path / "built.toml"
    built.write_text(server_file.read_text() + 'data_of = "stock"\n')
    arguments = ["run", "--quick", "--scenarios", "cached-select", "--run", "one", "--keep-data"]
    arguments += ["--seconds", "3", "--servers", str(stock), str(built), "--rounds"]
    code, output = house.run(*arguments, "3")
    assert code == 0, output
    assert output.count("filling") == 1
    run = house.work / "results" / "one"
    assert load(run).remarks == []
    figures = pd.read_csv(run / "csv" / "cached-select.csv").set_index("figure")["value"]
    assert len(figures["throughput"]) == 2 * 2 * 3, "servers, points, rounds"
    assert (figures["processor_time"] > 0).all()
    assert (figures["foreign_share"] <= 1).all()
    assert "## Verdict" in (run / "report.md").read_text()
    assert house.servers_running() == []
    # All is known well enough: no server is started again.
    code, output = house.run(*arguments, "3")
    assert (code, output.count("round ")) == (0, 0), output
    # More is asked for: the rounds that are there stay.
    code, output = house.run(*arguments, "4")
    assert (code, output.count("round 4"), output.count("round 5")) == (0, 2, 0), output
    figures = pd.read_csv(run / "csv" / "cached-select.csv").set_index("figure")["value"]
    assert len(figures["throughput"]) == 2 * 2 * 4


def test_a_disk_that_is_held(house: House, server_file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("a control group needs root")
    arguments = ["run", "--quick", "--scenarios", "cloud-disk", "--rounds", "1", "--run", "one"]
    arguments += ["--servers", str(server_file), "--seconds", "2"]
    variants = ["sync=5", "loads=updates+reader", "disk=400", "clients=4"]
    code, output = house.run(*arguments, "--variant", *variants)
    assert code == 0, output
    run = house.work / "results" / "one"
    figures = pd.read_csv(run / "csv" / "cloud-disk.csv").set_index("figure")["value"]
    # What was read ahead of the burst's own two seconds is not counted by the server.
    assert figures["pages_read"] < 1.5 * 400
    assert figures["reader_max"] >= figures["reader_p99"] > 0
    # Some 400 operations a second for five connections: milliseconds for each.
    assert 1 < figures["reader_io"] <= figures["reader_io_statement_max"]
    assert figures["reader_io_statement_max"] <= figures["reader_max"]
    assert 0 < figures["reader_other_max"] <= figures["reader_max"]
    # A group is named after its server's process; the groups of other runs have theirs alive.
    groups = Path("/sys/fs/cgroup")
    left = [*groups.glob("sluice-bench-*"), *groups.glob("*/sluice-bench-*")]
    assert not [group for group in left if not Path("/proc", group.name.split("-")[-1]).exists()]


def test_minutes_on_a_small_redo_log(house: House, server_file: Path) -> None:
    arguments = ["run", "--quick", "--scenarios", "sustained", "--rounds", "1", "--run", "one"]
    arguments += ["--servers", str(server_file), "--seconds", "10", "--variant", "data_size=40M"]
    code, output = house.run(*arguments)
    assert code == 0, output
    run = house.work / "results" / "one"
    figures = pd.read_csv(run / "csv" / "sustained.csv").set_index("figure")["value"]
    assert 0 <= figures["worst_second"] <= figures["slow_second"] <= 2 * figures["throughput"]
    assert (figures["seconds_at_zero"] > 0) == (figures["worst_second"] == 0)
    assert figures["redo_turns"] > 0
    seconds = pd.read_csv(next(run.rglob("seconds.csv")))
    # sysbench leaves out the last second, and others when it is late.
    assert len(seconds) >= 3
    assert seconds["second"].is_monotonic_increasing


def test_a_load_like_tpcc(house: House, server_file: Path) -> None:
    """A quick run looks whether the data is consistent after what ran side by side."""
    arguments = ["run", "--quick", "--scenarios", "tpcc-like", "--rounds", "2", "--run", "one"]
    code, output = house.run(*arguments, "--servers", str(server_file), "--variant", "clients=8")
    assert code == 0, output
    run = house.work / "results" / "one"
    assert load(run).remarks == []
    raw = "".join(file.read_text() for file in run.rglob("sysbench.txt"))
    assert "FATAL" not in raw and "transactions:" in raw
    figures = pd.read_csv(run / "csv" / "tpcc-like.csv").groupby("figure")["value"].min()
    assert figures["throughput"] > 0


def test_too_short_for_a_worst_second(house: House, server_file: Path) -> None:
    arguments = ["run", "--quick", "--scenarios", "sustained", "--seconds", "3"]
    code, output = house.run(*arguments, "--servers", str(server_file))
    assert code != 0
    assert "SECONDS=3 is too few for a worst second" in output


def test_binlog_purge_of_one_binary_as_two_servers(
    house: House, server_file: Path, tmp_path: Path
) -> None:
    """The scenario finds the stall that the shim makes; each server has its own switches."""
    other = tmp_path / "other.toml"
    other.write_text(server_file.read_text() + 'switches = ["max_connections=77"]\n')
    arguments = ["run", "--quick", "--scenarios", "binlog-purge", "--rounds", "1", "--run", "one"]
    arguments += ["--seconds", "20", "--servers", str(server_file), str(other)]
    code, output = house.run(*arguments, "--variant", *_PURGE)
    assert code == 0, output
    assert "[1/4] binlog-purge, built: filling" in output
    run = house.work / "results" / "one"
    assert load(run).remarks == []
    assert load(run).content["server_facts"]["other"]["switches"] == ["max_connections=77"]
    figures = pd.read_csv(run / "csv" / "binlog-purge.csv").set_index(["server", "figure"])["value"]
    for server in ("built", "other"):
        # 64 s for a GiB, at least 2 x 8 MiB; the logs of the load come on top.
        assert figures[server, "old_bytes"] >= 2 * 8 * 2**20
        assert figures[server, "slept"] >= 1.0
        # Whether the statement waits for it is the server's affair.
        assert figures[server, "purge_statement"] > 0
        assert figures[server, "removal_done"] >= 0.9
        assert figures[server, "files_listed"] == figures[server, "files_on_disk"]
        assert figures[server, "throughput"] > 0
    assert (run / "report.html").read_text().count("<svg") >= 1
    assert house.servers_running() == []
    assert not list((house.work / "data").glob("*/*/data")), "data directories are removed"


def test_interrupted_and_resumed(house: House, server_file: Path) -> None:
    arguments = ["run", "--quick", "--scenarios", "cached-select", "--run", "two"]
    arguments += ["--servers", str(server_file), "--rounds"]
    raw = house.work / "results" / "two" / "raw"
    process = house.start(*arguments, "1000")  # more than anybody waits for
    end = time.monotonic() + 3600
    while not list(raw.glob("**/round-1")) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    # Between two rounds it is down for a moment.
    while not house.servers_running() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=1800)
    assert process.returncode == 130, output
    assert "Go on: make bench RUN=two" in output
    # One that had just been started is killed by the kernel, and ends a moment later.
    end = time.monotonic() + 1800
    while house.servers_running() and time.monotonic() < end:
        time.sleep(0.05)
    assert house.servers_running() == []
    kept = {path: path.stat().st_mtime_ns for path in raw.glob("**/round-*/figures.csv")}
    assert kept
    assert not list(raw.glob("**/*.partial")), "nothing half-done stays"
    assert (house.work / "results" / "two" / "report.html").exists(), "what there is, is drawn"

    rounds = 1 + max(int(path.parent.name.partition("-")[2]) for path in kept)
    code, output = house.run(*arguments, str(rounds))
    assert code == 0, output
    after = {path: path.stat().st_mtime_ns for path in raw.glob("**/round-*/figures.csv")}
    assert len(after) == 2 * rounds
    assert kept.items() <= after.items(), "what was measured is not measured again"


def test_the_harness_is_killed(house: House, server_file: Path) -> None:
    """SIGKILL cannot be caught: the kernel tells the server to go."""
    arguments = ["run", "--quick", "--scenarios", "cached-select", "--servers", str(server_file)]
    process = house.start(*arguments, "--rounds", "1000")  # more than anybody waits for
    end = time.monotonic() + 3600
    while not list(house.work.glob("data/*/*/ready")) and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    while not house.servers_running() and process.poll() is None:
        assert time.monotonic() < end
        time.sleep(0.05)
    assert process.poll() is None and house.servers_running()
    process.kill()
    process.communicate()
    end = time.monotonic() + 1800
    while house.servers_running() and time.monotonic() < end:
        time.sleep(0.1)
    assert house.servers_running() == []


def test_a_server_that_does_not_start_is_reported(
    house: House, server_file: Path, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text(server_file.read_text() + 'switches = ["no_such_option=1"]\n')
    arguments = [
        "run",
        "--quick",
        "--scenarios",
        "cached-select",
        "--rounds",
        "1",
        "--run",
        "three",
    ]
    code, output = house.run(*arguments, "--servers", str(broken), str(server_file))
    assert code == 1
    assert "broken did not start" in output
    assert "no_such_option" in output
    run = house.work / "results" / "three"
    assert {remark.server for remark in load(run).remarks} == {"broken"}
    assert "no_such_option" in (run / "report.html").read_text()
    assert list(run.glob("raw/cached-select/built/*/round-1")), "the other server was measured"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--servers", "nobody"], "there is no server file"),
        (["--servers", "stock", "--scenarios", "nothing"], "there is no scenario 'nothing'"),
        (["--servers", "stock", "--variant", "x=1"], "no scenario of this run has a variant 'x'"),
        (["--servers", "stock", "--variant", "x"], "is not name=value"),
    ],
)
def test_mistakes_are_said_in_a_line(house: House, arguments: list[str], message: str) -> None:
    code, output = house.run("run", *arguments)
    assert code == 1
    assert message in output
    assert "Traceback" not in output
