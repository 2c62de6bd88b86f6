# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The table of rounds, what their results mean, and what they cost."""

from __future__ import annotations

import collections
import csv
import resource
from pathlib import Path

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
        if file.exists():
            with file.open(newline="") as opened:
                for row in csv.DictReader(opened):
                    self.done.add(self.key(row))
                    self.results[row["result"]] += 1
        else:
            with file.open("w", newline="") as opened:
                csv.writer(opened, lineterminator="\n").writerow(COLUMNS)

    @staticmethod
    def key(row: dict[str, object]) -> tuple[str, str, str, int]:
        return str(row["entry"]), str(row["recording"]), str(row["mode"]), int(str(row["index"]))

    def add(self, row: dict[str, object]) -> None:
        with self._file.open("a", newline="") as opened:
            csv.DictWriter(opened, COLUMNS, lineterminator="\n").writerow(row)
        self.done.add(self.key(row))
        self.results[str(row["result"])] += 1


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
