# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The table of rounds, what their results mean, and what they cost."""

from __future__ import annotations

import collections
import csv
import resource
from collections.abc import Mapping
from pathlib import Path

#: Rounds of which one has a promise, and loses what was not synced.
ENOUGH = 24

COLUMNS = [
    "entry",
    "preset",
    "recording",
    "mode",
    "index",
    "at",
    "of",
    "aim",
    "policy",
    "sector",
    "seed",
    "promised",
    "lost",
    "files_touched",
    "writes",
    "bytes_pending",
    "bytes_kept",
    "namings",
    "namings_kept",
    "recovery_seconds",
    "seconds",
    "result",
    "detail",
]


class Table:
    """The rounds so far."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.done: set[tuple[str, str, str, int]] = set()
        self.results: collections.Counter[str] = collections.Counter()
        self._rounds: collections.Counter[str] = collections.Counter()
        self._telling: collections.Counter[str] = collections.Counter()
        if file.exists():
            with file.open(newline="") as opened:
                for row in csv.DictReader(opened):
                    self._count(row)
        else:
            with file.open("w", newline="") as opened:
                csv.writer(opened, lineterminator="\n").writerow(COLUMNS)

    @staticmethod
    def key(row: Mapping[str, object]) -> tuple[str, str, str, int]:
        return str(row["entry"]), str(row["recording"]), str(row["mode"]), int(str(row["index"]))

    def add(self, row: dict[str, object]) -> None:
        with self._file.open("a", newline="") as opened:
            csv.DictWriter(opened, COLUMNS, lineterminator="\n").writerow(row)
        self._count(row)

    def _count(self, row: Mapping[str, object]) -> None:
        self.done.add(self.key(row))
        self.results[str(row["result"])] += 1
        entry = str(row["entry"])
        self._rounds[entry] += 1

        def number(column: str) -> int:
            return int(str(row.get(column) or 0))

        lost = number("bytes_kept") < number("bytes_pending")
        lost |= number("namings_kept") < number("namings")
        self._telling[entry] += number("promised") > 0 and lost

    def idle(self) -> list[str]:
        """Entries of which no round could tell anything, of those that have a good many."""
        return [
            entry
            for entry, count in sorted(self._rounds.items())
            if count >= ENOUGH and not self._telling[entry]
        ]


def good(result: str) -> bool:
    return result == "ok" or result.startswith(("allowed", "known"))


def blamed(result: str) -> bool:
    """Is a mutant found? Also by what is allowed."""
    return result != "ok" and not result.startswith("known")


def say(row: dict[str, object]) -> None:
    print(
        f"{row['entry']}/{row['recording']} {row['mode']} {row['index']}: at {row['at']} of "
        f"{row['of']} ({row['aim']}), {row['policy']}: {row['result']}"
        + (f": {row['detail']}" if row["detail"] else ""),
        flush=True,
    )


def processor_seconds() -> float:
    """Of this program and all servers that have ended."""
    own, children = (
        resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
