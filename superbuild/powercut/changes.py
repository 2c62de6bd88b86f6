# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Files, and the changes of them and of their names that a failure may undo."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field

from oplog import KEEP_SIZE, PUNCH_HOLE, Kind


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


@dataclass(slots=True)
class Naming:
    """A change of names that a failure may undo."""

    number: int
    ino: int
    entries: list[tuple[int, str, int | None]]  #: directory, name, inode it has now
    removes_directory: bool = False


@dataclass(slots=True)
class Inode:
    mode: int
    target: str = ""
    size: int = 0  #: that survives
    pending: list[Change] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)  #: that survive, of a directory
    #: metadata of it has changed since the last sync of it
    touched: bool = False

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
    if change.flags & PUNCH_HOLE:
        return clip(writes, change.start, change.end)
    return writes


def resize(fd: int, change: Change, size: int) -> int:
    if change.kind == Kind.TRUNCATE:
        os.ftruncate(fd, change.start)
        return change.start
    if change.flags & PUNCH_HOLE:
        for start in range(change.start, min(change.end, size), 1 << 20):
            os.pwrite(fd, bytes(min(1 << 20, min(change.end, size) - start)), start)
        return size
    if not change.flags & KEEP_SIZE and change.end > size:
        os.ftruncate(fd, change.end)
        return change.end
    return size


def set_name(names: dict[str, int], name: str, ino: int | None) -> None:
    if ino is None:
        names.pop(name, None)
    else:
        names[name] = ino
