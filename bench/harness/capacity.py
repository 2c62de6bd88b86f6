# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Enough disk and memory? Said before the start, with the numbers."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import psutil

from harness.errors import BenchError
from harness.scenario import Dataset, Scenario
from harness.server_definition import ServerDefinition

_GIB = 2**30
_SPARE = 2 * _GIB  #: of disk, left for others
EMPTY_DIRECTORY = 400 * 2**20  #: an empty data directory, generously


def check(
    scenarios: Sequence[Scenario],
    servers: Sequence[ServerDefinition],
    data: Path,
    *,
    keep: bool,
    redo_bytes: int = 0,
) -> None:
    """Data of one scenario at a time is on disk (of all, with keep), each with a redo log of
    redo_bytes; of servers, one runs at a time, and where bursts are interleaved all of them."""
    needed = [_disk(scenario, len(servers), redo_bytes) for scenario in scenarios]
    disk = sum(needed) if keep else max(needed)
    there = sum(file.stat().st_size for file in data.rglob("*") if file.is_file())
    free = shutil.disk_usage(data).free + there - _SPARE
    memory = max(
        (
            dataset.memory_bytes * (len(servers) if one.interleaved else 1)
            for one in scenarios
            for dataset in datasets(one)
        ),
        default=0,
    )
    available = psutil.virtual_memory().available
    if disk > free:
        each = ", ".join(
            f"{one.name} {bytes_needed / _GIB:.1f}"
            for one, bytes_needed in zip(scenarios, needed, strict=True)
        )
        raise BenchError(
            f"not enough disk: {disk / _GIB:.1f} GiB are needed below {data}, {free / _GIB:.1f} GiB "
            f"are free (with 2 left for others). GiB for {len(servers)} servers: {each}. "
            "Fewer servers at a time, QUICK=1, or BENCH_WORK= a directory on a larger disk"
        )
    if memory > available:
        raise BenchError(
            f"not enough memory: what runs at a time takes up to {memory / _GIB:.1f} GiB, "
            f"{available / _GIB:.1f} GiB are available. QUICK=1 takes less"
        )


def datasets(scenario: Scenario) -> list[Dataset]:
    """Those that its points name, each once."""
    return list(
        {point.dataset.name: point.dataset for point in scenario.points() if point.dataset}.values()
    )


def _disk(scenario: Scenario, servers: int, redo_bytes: int) -> int:
    return servers * sum(
        one.disk_bytes + EMPTY_DIRECTORY + redo_bytes for one in datasets(scenario)
    )
