# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Reads what recorder.cc has written."""

from __future__ import annotations

import enum
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = struct.Struct("<IB3xIIQQQ")

ROOT = 1
MARKS = 2

DIRECT = 1
DSYNC = 2
DATASYNC = 4

KEEP_SIZE = 1
PUNCH_HOLE = 2
ZERO_RANGE = 16


class Kind(enum.IntEnum):
    """As in recorder.cc, which says what they mean."""

    BASE = 1
    MKNOD = 2
    LINK = 3
    UNLINK = 4
    RENAME = 5
    WRITE = 6
    DONE = 7
    TRUNCATE = 8
    FALLOCATE = 9
    SYNC = 10
    SYNCED = 11
    MARK = 12


@dataclass(slots=True)
class Record:
    number: int
    kind: int
    flags: int
    micros: int
    ino: int
    a: int
    b: int
    where: int  #: of the payload in the log
    length: int


class Log:
    """All records of a recording."""

    def __init__(self, file: Path) -> None:
        with file.open("rb") as opened:
            self.bytes = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
        self.view = memoryview(self.bytes)
        self.records: list[Record] = []
        at = 0
        end = len(self.bytes)
        unpack = HEADER.unpack_from
        append = self.records.append
        while at + HEADER.size <= end:
            length, kind, flags, micros, ino, a, b = unpack(self.bytes, at)
            at += HEADER.size
            if at + length > end:
                break
            append(Record(len(self.records), kind, flags, micros, ino, a, b, at, length))
            at += length

    def payload(self, record: Record) -> bytes:
        return bytes(self.view[record.where : record.where + record.length])

    def name(self, record: Record) -> str:
        return self.payload(record).decode("utf-8", "surrogateescape")

    def names(self, record: Record) -> tuple[str, str]:
        first, second = self.name(record).split("\0", 1)
        return first, second

    def marks(self) -> Iterator[tuple[int, str]]:
        """Number and text of each mark."""
        for record in self.records:
            if record.kind == Kind.MARK:
                for line in self.payload(record).decode().splitlines():
                    yield record.number, line
