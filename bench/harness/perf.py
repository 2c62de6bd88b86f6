# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Samples the stacks of a server with perf (Debian's package linux-perf)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.errors import BenchError


def record(pid: int, into: Path, seconds: float, per_second: int) -> None:
    """Samples a process for so long, each of its busy threads so often a second."""
    what = ["--event=cpu-clock", f"--freq={per_second}", "-g", f"--pid={pid}"]
    _perf("record", "--quiet", f"--output={into}", *what, "--", "sleep", f"{seconds}")


def samples(recorded: Path) -> list[list[str]]:
    """Removes what was recorded, and returns its stacks: names of functions, innermost first."""
    text = _perf("script", "--no-inline", f"--input={recorded}", "--fields=ip,sym")
    recorded.unlink()
    return stacks(text)


def stacks(text: str) -> list[list[str]]:
    """Of what `perf script` prints: a line with address and name a function, empty ones between."""
    return [
        [line.strip().partition(" ")[2] for line in stack.splitlines()]
        for stack in text.split("\n\n")
        if stack.strip()
    ]


def _perf(*arguments: str) -> str:
    try:
        run = subprocess.run(["perf", *arguments], check=False, capture_output=True, text=True)
    except FileNotFoundError as error:
        raise BenchError("perf is missing: apt-get install linux-perf") from error
    if run.returncode != 0:
        raise BenchError(f"perf {arguments[0]} failed: {run.stderr.strip()}")
    return run.stdout
