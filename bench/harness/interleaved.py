# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Bursts that alternate between servers that are all up: neighbours hit all of them alike.

A machine's speed differs by tens of percent from minute to minute. Two bursts a few seconds
apart see the same machine, so the ratio inside a round is the figure, and rounds are added until
its median is known as closely as was asked.

After a few rounds all servers are stopped and started again, each on the data directory of the
next. What one process or one directory is better by, the next life gives to another server.
"""

from __future__ import annotations

import os
import random
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

import psutil

from harness.intervals import Ratio
from harness.server import Server

_Thing = TypeVar("_Thing")

#: Figures whose intervals decide when there are enough rounds.
DECIDING = ("throughput", "processor_time")
#: Of the machine's processor time in a burst: what neither server nor load may use.
FOREIGN_SHARE = 0.10
ATTEMPTS = 3  #: at a burst beside which something else ran
SETTLE = 0.3  #: seconds between thawing a server and its burst
LIFE = 3  #: rounds of a point, until the servers are started anew


@dataclass(frozen=True)
class Precision:
    """When a point has been measured enough."""

    width: float = 0.02  #: of the intervals of the deciding figures
    minutes: float = 10  #: for one point, whatever the interval is then
    rounds: int = 18  #: at least


def read_once(directory: Path) -> None:
    """Reads the files of tables, and leaves none of them in the page cache.

    The first reading of a directory took up to ten times as long as later ones on one machine,
    and that hits only the server that has it then.
    """
    buffer = bytearray(1 << 20)
    for table in directory.rglob("*.ibd"):
        with table.open("rb", buffering=0) as file:
            while file.readinto(buffer):
                pass
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def enough(ratios: Sequence[Ratio], precision: Precision) -> bool:
    """Are there rounds enough, and is every interval narrow enough?"""
    return all(one.rounds >= precision.rounds and one.width <= precision.width for one in ratios)


def moved_on(things: Sequence[_Thing], life: int) -> list[_Thing]:
    """What each has in a life, from 1: its own in the first, then that of the next."""
    turn = (life - 1) % len(things)
    return [*things[turn:], *things[:turn]]


class Order:
    """The servers of each round in a random order of its own, repeatable by the seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def shuffled(self, things: Sequence[Server], after: Server | None = None) -> list[Server]:
        """after: who had the last burst. That one is not first: each burst comes after one of another
        server, which has left the caches to itself."""
        drawn = self._random.sample(things, len(things))
        if len(drawn) > 1 and drawn[0] is after:
            place = self._random.randrange(1, len(drawn))
            drawn[0], drawn[place] = drawn[place], drawn[0]
        return drawn


def freeze_others(servers: Sequence[Server], measured: Server) -> None:
    """Only the measured one runs. What it owes in the background it pays in its own bursts."""
    for server in servers:
        if server.running:
            (server.thaw if server is measured else server.freeze)()
    time.sleep(SETTLE)


class Foreign:
    """`with Foreign(server) as foreign:` around a burst; then what others had meanwhile.

    Others are all but the server and the processes that the harness started and waited for: time
    stolen by other virtual machines included.
    """

    share = 0.0  #: of the machine's processor time

    def __init__(self, server: Server) -> None:
        self._server = server

    def __enter__(self) -> Self:
        self._started, self._foreign = time.monotonic(), self._so_far()
        return self

    def __exit__(self, *error: object) -> None:
        if error[0] is None:
            seconds = time.monotonic() - self._started
            grown = self._so_far() - self._foreign
            # The system counts in ticks, so a short burst may have some too few or too many.
            share = grown / (seconds * (psutil.cpu_count() or 1))
            self.share = min(max(0.0, share), 1.0)

    def _so_far(self) -> float:
        return _busy() - self._server.processor_seconds() - _ours()


def _busy() -> float:
    times = psutil.cpu_times()
    return sum(times) - times.idle - times.iowait - times.guest - times.guest_nice


def _ours() -> float:
    times = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    return times.ru_utime + times.ru_stime + own.ru_utime + own.ru_stime
