# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Files, and the changes of them and of their names that a failure may undo."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from oplog import KEEP_SIZE, PUNCH_HOLE, ZERO_RANGE, Kind


@dataclass(slots=True)
class Change:
    """A write, truncation or fallocate of one file that a failure may undo."""

    number: int
    kind: int
    start: int
    end: int  #: of a truncation: start
    where: int  #: of the data in the log, at start
    done: int | None  #: number of the record that says it had ended
    flags: int

    @property
    def allocates_only(self) -> bool:
        """Does what was there stay as it is?"""
        return self.kind == Kind.FALLOCATE and not self.flags & (PUNCH_HOLE | ZERO_RANGE)


@dataclass(slots=True)
class Naming:
    """A change of names that a failure may undo."""

    number: int
    ino: int
    entries: list[tuple[int, str, int | None]]  #: directory, name, inode it has now
    removes_directory: bool = False


@dataclass(slots=True)
class Extent:
    """How long a file is, and which parts have no block that was ever written."""

    size: int = 0
    holes: list[tuple[int, int]] = field(default_factory=list)

    def grows(self, write: Change) -> bool:
        """Does a write change size or allocation?"""
        return write.end > self.size or any(
            start < write.end and write.start < end for start, end in self.holes
        )

    def apply(self, change: Change) -> None:
        start, end = change.start, change.end
        hole: tuple[int, int] | None = None
        if change.kind == Kind.TRUNCATE:
            self._fill(start, max(self.size, start))
            hole = self.size, start
            self.size = start
        elif change.kind == Kind.WRITE:
            if not self.grows(change):
                return
            self._fill(start, end)
            hole = self.size, start
            self.size = max(self.size, end)
        else:
            if change.flags & (PUNCH_HOLE | ZERO_RANGE):
                self._fill(start, end)
                self.holes.append((start, min(end, max(self.size, start))))
            if not change.flags & KEEP_SIZE:
                hole = self.size, end  # allocated, but marked as not written
                self.size = max(self.size, end)
        if hole is not None:
            self.holes.append(hole)
        self.holes = [(start, end) for start, end in self.holes if start < end]

    def _fill(self, start: int, end: int) -> None:
        """There is none between these any more."""
        self.holes = [
            part
            for hole in self.holes
            for part in ((hole[0], min(hole[1], start)), (max(hole[0], end), hole[1]))
        ]


@dataclass(slots=True)
class Inode:
    mode: int
    target: str = ""
    kept: Extent = field(default_factory=Extent)  #: that survives
    now: Extent = field(default_factory=Extent)  #: that the server sees
    pending: list[Change] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)  #: that survive, of a directory
    #: Records that changed it last: what fsync makes the journal keep, and fdatasync.
    changed: int = -1
    touched: int = -1

    @property
    def is_dir(self) -> bool:
        return stat.S_ISDIR(self.mode)

    @property
    def is_file(self) -> bool:
        return stat.S_ISREG(self.mode)


def clip(changes: list[Change], start: int, end: int | None) -> list[Change]:
    """Without what lies between start and end (None: infinity)."""
    kept = []
    for change in changes:
        if (
            change.kind != Kind.WRITE
            or change.end <= start
            or (end is not None and change.start >= end)
        ):
            kept.append(change)
            continue
        if change.start < start:
            kept.append(
                Change(
                    change.number,
                    change.kind,
                    change.start,
                    start,
                    change.where,
                    change.done,
                    change.flags,
                )
            )
        if end is not None and change.end > end:
            kept.append(
                Change(
                    change.number,
                    change.kind,
                    end,
                    change.end,
                    change.where + end - change.start,
                    change.done,
                    change.flags,
                )
            )
    return kept


def clip_for(writes: list[Change], change: Change) -> list[Change]:
    """Writes that came before a truncation or a hole that survives."""
    if change.kind == Kind.TRUNCATE:
        return clip(writes, change.start, None)
    if change.flags & (PUNCH_HOLE | ZERO_RANGE):
        return clip(writes, change.start, change.end)
    return writes


def resize(fd: int, change: Change, size: int) -> int:
    if change.kind == Kind.TRUNCATE:
        os.ftruncate(fd, change.start)
        return change.start
    if change.flags & (PUNCH_HOLE | ZERO_RANGE):
        for start in range(change.start, min(change.end, size), 1 << 20):
            os.pwrite(fd, bytes(min(1 << 20, min(change.end, size) - start)), start)
    if not change.flags & KEEP_SIZE and change.end > size:
        os.ftruncate(fd, change.end)
        return change.end
    return size


def set_name(names: dict[str, int], name: str, ino: int | None) -> None:
    if ino is None:
        names.pop(name, None)
    else:
        names[name] = ino
