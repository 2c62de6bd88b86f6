# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Looks at each place of a recording for what InnoDB's order of writes and syncs has to promise.

A cut tries one place and one choice of what was kept. This looks at all of them, but only for three
rules:

redo first  A page is not written, to the doublewrite files or to its place, before the redo
            up to its LSN is synced.
whole copy  From when a page is written to its place until that write is synced, a copy that is at
            least as new is in the doublewrite files: synced, and not being written over.
checkpoint  When a checkpoint is written, no write of a page that is older is left to be synced.

Which of them hold is up to the settings (matrix.py). Pages are not compressed. Left out are pages
without redo (LSN 0: a new file), temporary files, files that are unlinked, and the first page of the
system tablespace, of which a shutdown changes one sector in its place.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cuts import classify
from matrix import RULES
from oplog import Kind, Log, Record

PAGE = 16384
BLOCK = 512  #: of the redo log
REDO_HEADER = 4 * BLOCK
CHECKPOINTS = (BLOCK, 3 * BLOCK)  #: where a redo file has them
#: What a load writes.
LOOKED_AT = ("pages", "copies", "checkpoints")
TABLESPACES = ("table", "dictionary", "system", "undo")


@dataclass(frozen=True, slots=True)
class Page:
    """The identity of a page, and its version."""

    space: int
    number: int
    lsn: int

    @property
    def identity(self) -> tuple[int, int]:
        return self.space, self.number

    @classmethod
    def read(cls, data: memoryview) -> Page:
        number, lsn, space = (
            int.from_bytes(data[start:end]) for start, end in ((4, 8), (16, 24), (34, 38))
        )
        return cls(space, number, lsn)


@dataclass(slots=True)
class Write:
    """A write that is not synced yet; of the redo log, page has the LSN that it ends at."""

    number: int
    page: Page
    done: int | None = None

    def survives(self, begun: int) -> bool:
        return self.done is not None and self.done < begun


@dataclass(slots=True)
class Order:
    """What is synced and what is not, at one place of a recording."""

    lies: list[re.Pattern[str]]
    synced_redo: int = 0  #: LSN up to which it is
    #: Version in a slot of a doublewrite file, and writes over it.
    copies: dict[tuple[int, int], Page] = field(default_factory=dict)
    slots_of: defaultdict[tuple[int, int], set[tuple[int, int]]] = field(
        default_factory=lambda: defaultdict(set)
    )
    over: defaultdict[tuple[int, int], list[Write]] = field(
        default_factory=lambda: defaultdict(list)
    )
    #: By inode.
    pages: defaultdict[int, list[Write]] = field(default_factory=lambda: defaultdict(list))
    redo: defaultdict[int, list[Write]] = field(default_factory=lambda: defaultdict(list))
    redo_starts: dict[int, int] = field(default_factory=dict)
    seen: dict[int, tuple[int, str]] = field(default_factory=dict)
    kinds: dict[int, str] = field(default_factory=dict)
    looked: Counter[str] = field(default_factory=Counter)  #: how many pages and so on

    def path(self, ino: int) -> str:
        parts = []
        while ino in self.seen:
            ino, name = self.seen[ino]
            parts.append(name)
        return "/".join(reversed(parts))

    def kind(self, ino: int) -> str:
        if ino not in self.kinds:
            self.kinds[ino] = classify(self.path(ino))
        return self.kinds[ino]

    def is_named(self, ino: int, directory: int, name: str) -> None:
        self.seen[ino] = (directory, name)
        self.kinds.pop(ino, None)

    def has_copy(self, page: Page) -> bool:
        return any(
            self.copies[slot].lsn >= page.lsn and not self.over.get(slot)
            for slot in self.slots_of[page.identity]
        )

    def set_copy(self, slot: tuple[int, int], page: Page) -> None:
        if slot in self.copies:
            self.slots_of[self.copies[slot].identity].discard(slot)
        self.copies[slot] = page
        self.slots_of[page.identity].add(slot)

    # What happens

    def begins(self, ino: int, data: bytes) -> None:
        """A file that was there before."""
        view = memoryview(data)
        if self.kind(ino) == "doublewrite":
            for slot in range(len(data) // PAGE):
                self.set_copy((ino, slot), Page.read(view[slot * PAGE :]))
        elif self.kind(ino) == "redo":
            self.synced_redo = max(self.synced_redo, self.redo_end(ino, 0, view))

    def redo_end(self, ino: int, start: int, data: memoryview) -> int:
        """LSN that a write to a redo file ends at; 0 if it has no records."""
        if start == 0 and len(data) >= BLOCK:
            self.redo_starts[ino] = int.from_bytes(data[8:16])
        begin = self.redo_starts.get(ino, 0)
        if begin == 0:
            return 0
        for at in range(len(data) // BLOCK * BLOCK - BLOCK, -1, -BLOCK):
            offset = start + at - REDO_HEADER
            number = int.from_bytes(data[at : at + 4]) & 0x3FFFFFFF
            length = int.from_bytes(data[at + 4 : at + 6]) & 0x7FFF
            # A file that is used again has blocks of its former life.
            if offset >= 0 and number == (begin + offset) // BLOCK % (1 << 30) + 1 and length:
                return begin + offset + length
        return 0

    def is_written(self, record: Record, data: memoryview) -> Iterator[str]:
        ino, kind = record.ino, self.kind(record.ino)
        if kind == "redo":
            end = self.redo_end(ino, record.a, data)
            self.redo[ino].append(Write(record.number, Page(0, 0, end)))
            if record.a in CHECKPOINTS:
                self.looked["checkpoints"] += 1
                yield from self.is_checkpoint(int.from_bytes(data[8:16]))
        elif kind == "doublewrite":
            for at in range(0, len(data), PAGE):
                page = Page.read(data[at:])
                self.looked["copies"] += page.lsn != 0
                yield from self.needs_redo(page, "doublewrite")
                slot = ino, (record.a + at) // PAGE
                self.over[slot].append(Write(record.number, page))
                yield from self.is_overwritten(slot)
        elif kind in TABLESPACES and len(data) % PAGE:
            self.looked["other writes"] += 1
        elif kind in TABLESPACES:
            for at in range(0, len(data), PAGE):
                page = Page.read(data[at:])
                if page.lsn == 0 or page.identity == (0, 0):
                    continue
                self.looked["pages"] += 1
                yield from self.needs_redo(page, kind)
                self.pages[ino].append(Write(record.number, page))
                if not self.has_copy(page):
                    yield f"whole copy: {self.path(ino)}: {page} is written without one"

    def needs_redo(self, page: Page, what: str) -> Iterator[str]:
        if page.lsn > self.synced_redo:
            yield f"redo first: {what}: {page} is written, the redo is synced up to {self.synced_redo}"

    def is_checkpoint(self, lsn: int) -> Iterator[str]:
        for ino, writes in self.pages.items():
            for write in writes:
                if write.page.lsn < lsn:
                    yield (
                        f"checkpoint: {self.path(ino)}: {write.page}, written by record "
                        f"{write.number}, is not synced, and the checkpoint is {lsn}"
                    )

    def is_overwritten(self, slot: tuple[int, int]) -> Iterator[str]:
        lost = self.copies.get(slot)
        if lost is None or lost.lsn == 0:
            return
        for ino, writes in self.pages.items():
            for write in writes:
                if write.page.identity == lost.identity and not self.has_copy(write.page):
                    yield (
                        f"whole copy: {self.path(ino)}: {write.page}, written by record "
                        f"{write.number}, is not synced, and its copy is written over"
                    )

    def is_done(self, record: Record) -> None:
        ino, kind = record.ino, self.kind(record.ino)
        if kind == "doublewrite":
            lists = [writes for slot, writes in self.over.items() if slot[0] == ino]
        else:
            lists = [self.pages.get(ino, []), self.redo.get(ino, [])]
        for write in (write for writes in lists for write in writes):
            if write.number == record.a:
                write.done = record.number

    def is_synced(self, ino: int, begun: int) -> None:
        if any(lie.search(self.path(ino)) for lie in self.lies):
            return
        for write in self.redo.pop(ino, []):
            if write.survives(begun):
                self.synced_redo = max(self.synced_redo, write.page.lsn)
            else:
                self.redo[ino].append(write)
        for slot in [slot for slot in self.over if slot[0] == ino]:
            for write in self.over.pop(slot):
                if write.survives(begun):
                    self.set_copy(slot, write.page)
                else:
                    self.over[slot].append(write)
        if ino in self.pages:
            self.pages[ino] = [w for w in self.pages[ino] if not w.survives(begun)]


def look(
    log: Log, place: Path, lies: tuple[str, ...] = (), rules: tuple[str, ...] = RULES
) -> tuple[list[tuple[int, str]], Counter[str]]:
    """What breaks a rule in the folder of a recording, and how much was looked at."""
    looked: Counter[str] = Counter(dict.fromkeys(LOOKED_AT, 0))
    broken = [
        (number, text)
        for number, text in violations(log, place / "base", lies, looked)
        if text.startswith(rules)
    ]
    # A recovery, which has marks of its load, need not write any.
    if not (place / "marks").exists():
        broken += [(len(log.records), f"no {what}") for what in LOOKED_AT if not looked[what]]
    return broken, looked


def violations(
    log: Log, base: Path, lies: tuple[str, ...] = (), looked: Counter[str] | None = None
) -> Iterator[tuple[int, str]]:
    """Places of a recording where a rule is broken, and how; lies: as in model.py."""
    order = Order([re.compile(lie) for lie in lies])
    if looked is not None:
        order.looked = looked
    for record in log.records:
        kind = record.kind
        if kind in (Kind.BASE, Kind.MKNOD):
            order.is_named(record.ino, record.a, log.name(record).split("\0")[0])
            if kind == Kind.BASE and (file := base / order.path(record.ino)).is_file():
                order.begins(record.ino, file.read_bytes())
        elif kind == Kind.RENAME:
            order.is_named(record.ino, record.b, log.names(record)[1])
        elif kind == Kind.UNLINK:
            order.pages.pop(record.ino, None)
        elif kind == Kind.WRITE:
            data = log.view[record.where : record.where + record.length]
            for broken in order.is_written(record, data):
                yield record.number, broken
        elif kind == Kind.DONE:
            order.is_done(record)
        elif kind == Kind.SYNCED:
            order.is_synced(record.ino, record.a)
