# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Something read again and again in a thread of its own, beside a load.

sysbench reports whole seconds at best, and a stall of 300 ms hides in one. A
counter that the server keeps anyway, read ten times a second through a
connection of its own, costs ten small statements. Times are CLOCK_MONOTONIC
seconds, taken when the answer is there: if the server holds the sampler up, too,
the sample is late and the growth is divided by the real time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

import pandas as pd

from harness.server import Server

#: Gives the values of one sample.
Read = Callable[[], Sequence[float]]


class Sampler:
    """with Sampler(read, ["files", "bytes"]) as sampler: ...; sampler.frame()"""

    def __init__(self, read: Read, columns: Sequence[str], interval: float = 0.1) -> None:
        self._read = read
        self._columns = columns
        self._interval = interval
        self._samples: list[tuple[float, ...]] = []
        self._end = threading.Event()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._repeat, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join()

    def frame(self) -> pd.DataFrame:
        """time (s, monotonic) and the columns; raises what reading raised."""
        if self._error is not None:
            raise self._error
        return pd.DataFrame(self._samples, columns=["time", *self._columns])

    def _repeat(self) -> None:
        following = time.monotonic()
        ending = False
        while not ending:
            ending = self._end.is_set()  # one more look, at how it ended
            try:
                values = self._read()
            except Exception as error:  # noqa: BLE001 - frame() raises it
                self._error = error
                return
            now = time.monotonic()
            self._samples.append((now, *values))
            following = max(following + self._interval, now)
            self._end.wait(following - now)


def status_counter(server: Server, name: str) -> Sampler:
    """A status variable's value ten times a second: time, count."""
    connection = server.connect(read_timeout=600)
    query = f"SHOW GLOBAL STATUS LIKE '{name}'"

    def read() -> tuple[float]:
        with connection.cursor() as cursor:
            cursor.execute(query)
            return (float(cursor.fetchone()[1]),)

    return Sampler(read, ["count"])


def rates(samples: pd.DataFrame) -> pd.DataFrame:
    """Growth a second between neighbouring samples: time (of the later one), rate."""
    growth = samples["count"].diff() / samples["time"].diff()
    return pd.DataFrame({"time": samples["time"], "rate": growth}).iloc[1:].reset_index(drop=True)


def window_rates(samples: pd.DataFrame, length: float = 1.0) -> pd.DataFrame:
    """Growth a second over a window of at least that length that ends at each sample.

    Unlike whole seconds of the clock it does not cut a stall in two.
    """
    times = samples["time"].to_numpy()
    counts = samples["count"].to_numpy()
    begin = times.searchsorted(times - length, side="right") - 1
    inside = begin >= 0
    growth = counts[inside] - counts[begin[inside]]
    spans = times[inside] - times[begin[inside]]
    return pd.DataFrame({"time": times[inside], "rate": growth / spans})


def longest_below(frame: pd.DataFrame, limit: float) -> float:
    """Seconds of the longest row of neighbouring samples with a rate below the limit."""
    longest = row = 0.0
    lengths = frame["time"].diff().fillna(0.0)
    for seconds, rate in zip(lengths, frame["rate"], strict=True):
        row = row + seconds if rate < limit else 0.0
        longest = max(longest, row)
    return longest
