# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What may be on the disk after the power has failed.

A Disk is moved along the log of a recording. It holds what must have survived a
failure at that place, and a list of what was done since, and may have. An image
is the first, and a legal part of the second.

What is legal, see docs/design/power_cuts.md. In short:

posix      A file's content survives by a sync of that file, a name by a sync of its
           directory. All that was not synced is lost or kept, each for itself, but
           that changes of one name keep their order, and a rename is one change.
journal    A journal as ext4's with data=ordered: changes of names, truncations, and
           allocations survive in the order in which they were made, up to some
           point. A sync makes all of them survive that were made before it began.
           What a file grew by a write has its data.
ordered    The same on one device with a cache, which each sync empties: then an
           O_DIRECT write that changed no allocation survives the sync of any file.
protected  The same on a device whose cache survives the failure: such a write
           survives as soon as it has ended.

In all, of what was written into a file since its sync each sector may have any
content that it had meanwhile.
"""

from __future__ import annotations

import os
import random
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from oplog import DATASYNC, DIRECT, KEEP_SIZE, PUNCH_HOLE, ROOT, Kind, Log, Record

MODES = ("posix", "journal", "ordered", "protected")
SCRATCH = re.compile(r"/ibtmp\d+$|/#innodb_temp/")
#: What is kept of what was not synced; see Picker.
POLICIES = ("lost", "kept", "names", "data", "files", "torn", "last")


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


def _clip(changes: list[Change], start: int, end: int | None) -> list[Change]:
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


class Contents:
    """Files by number in a directory."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.folder = folder
        self._log = log

    def path(self, ino: int) -> Path:
        return self.folder / str(ino)

    def apply(self, fd: int, changes: list[Change], size: int) -> int:
        """Returns the size the file has then."""
        view = self._log.view
        for change in changes:
            if change.kind == Kind.WRITE:
                data = view[change.where : change.where + change.end - change.start]
                os.pwrite(fd, data, change.start)
                size = max(size, change.end)
            else:
                size = resize(fd, change, size)
        return size


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


class Disk:
    """What survives a failure for sure, and what was done since, at one place of a log."""

    def __init__(
        self,
        log: Log,
        base: Path,
        folder: Path,
        mode: str,
        lies: list[re.Pattern[str]] | None = None,
    ) -> None:
        """lies: syncs of files whose path matches one of these do nothing."""
        self.log = log
        self.mode = mode
        self.at = 0  #: records before this one have happened
        self.inodes: dict[int, Inode] = {ROOT: Inode(stat.S_IFDIR | 0o755)}
        self.namings: list[Naming] = []
        self._dirty: set[int] = set()  #: inodes with changes pending
        self.ignored = 0  #: syncs that did nothing
        self._lies = lies or []
        self._contents = Contents(folder, log)
        #: A name of each inode, as the server sees it.
        self.seen: dict[int, tuple[int, str]] = {ROOT: (ROOT, "")}
        self._scratch: dict[int, bool] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self._load(base)

    def _load(self, base: Path) -> None:
        for record in self.log.records:
            if record.kind != Kind.BASE:
                break
            name = self.log.name(record)
            self.seen[record.ino] = (record.a, name)
            inode = Inode(record.b)
            self.inodes[record.ino] = inode
            self.inodes[record.a].names[name] = record.ino
            path = base / self.path(record.ino)
            if inode.is_file:
                copy(path, self._contents.path(record.ino))
                inode.size = path.stat().st_size
            elif stat.S_ISLNK(record.b):
                inode.target = os.readlink(path)
            self.at = record.number + 1

    def path(self, ino: int) -> str:
        """Where the server sees it now, or saw it last."""
        parts: list[str] = []
        while ino != ROOT:
            ino, name = self.seen.get(ino, (ROOT, "?"))
            parts.append(name)
        return "/".join(reversed(parts))

    # Along the log

    def advance(self, to: int) -> None:
        """Records before this one have happened."""
        for record in self.log.records[self.at : to]:
            self._happens(record)
        self.at = max(self.at, to)

    def _happens(self, record: Record) -> None:
        kind = record.kind
        inode = self.inodes.get(record.ino)
        if kind == Kind.WRITE:
            assert inode is not None
            if self._is_scratch(record.ino):
                return
            self._dirty.add(record.ino)
            inode.pending.append(
                Change(
                    record.number,
                    kind,
                    record.a,
                    record.a + record.length,
                    record.where,
                    None,
                    record.flags,
                )
            )
        elif kind == Kind.DONE:
            assert inode is not None
            for change in reversed(inode.pending):
                if change.number == record.a:
                    change.done = record.number
                    break
            if self.mode == "protected":
                self._empty_device(record.ino, inode, record.number + 1)
        elif kind in (Kind.TRUNCATE, Kind.FALLOCATE):
            if inode is None:  # the marks
                return
            self._dirty.add(record.ino)
            end = record.a + (record.b if kind == Kind.FALLOCATE else 0)
            inode.pending.append(
                Change(record.number, kind, record.a, end, 0, record.number, record.flags)
            )
            inode.touched = True
        elif kind == Kind.SYNC:
            pass
        elif kind == Kind.SYNCED:
            self._synced(record.ino, self.log.records[record.a])
        elif kind in (Kind.MKNOD, Kind.LINK, Kind.UNLINK, Kind.RENAME):
            self._renamed(record)

    def _is_scratch(self, ino: int) -> bool:
        """Files that a server makes anew when it starts: nobody wants to know."""
        if ino not in self._scratch:
            self._scratch[ino] = SCRATCH.search(self.path(ino)) is not None
        return self._scratch[ino]

    def _renamed(self, record: Record) -> None:
        kind = record.kind
        ino = record.ino
        if kind == Kind.MKNOD:
            name, *target = self.log.name(record).split("\0")
            inode = Inode(record.b, target[0] if target else "", touched=True)
            self.inodes[ino] = inode
            if inode.is_file:
                self._contents.path(ino).touch()
            self.seen[ino] = (record.a, name)
            entries: list[tuple[int, str, int | None]] = [(record.a, name, ino)]
        elif kind == Kind.LINK:
            entries = [(record.a, self.log.name(record), ino)]
        elif kind == Kind.UNLINK:
            entries = [(record.a, self.log.name(record), None)]
        else:
            name, new = self.log.names(record)
            self.seen[ino] = (record.b, new)
            entries = [(record.a, name, None), (record.b, new, ino)]
        inode = self.inodes[ino]
        inode.touched = True
        for directory, _, _ in entries:
            self.inodes[directory].touched = True
        self.namings.append(
            Naming(record.number, ino, entries, kind == Kind.UNLINK and inode.is_dir)
        )

    def _synced(self, ino: int, begun: Record) -> None:
        inode = self.inodes.get(ino)
        if inode is None:
            return
        path = self.path(ino)
        if any(lie.search(path + "/" if inode.is_dir else path) for lie in self._lies):
            self.ignored += 1
            return
        before = begun.number
        grew = inode.is_file and self._grew(inode)
        if inode.is_file:
            self._settle(
                ino, inode, lambda change: change.done is not None and change.done < before
            )
            if not inode.pending:
                self._dirty.discard(ino)
        if self.mode == "posix":
            if inode.is_dir:
                self._settle_names(
                    [
                        naming
                        for naming in self.namings
                        if naming.number < before and any(d == ino for d, _, _ in naming.entries)
                    ]
                )
            return
        # fsync writes the times of a file, so it always commits; fdatasync need not.
        if not begun.flags & DATASYNC or inode.touched or grew:
            self._settle_names([n for n in self.namings if n.number < before])
            for number in self._dirty:
                self._settle_sizes(number, self.inodes[number], before)
            inode.touched = False
        if self.mode != "journal":
            for number in self._dirty:
                self._empty_device(number, self.inodes[number], before)
        self._dirty = {number for number in self._dirty if self.inodes[number].pending}

    def _empty_device(self, ino: int, inode: Inode, before: int) -> None:
        """What O_DIRECT has written where the file was allocated does not need its journal."""
        self._settle(
            ino,
            inode,
            lambda change: (
                bool(change.flags & DIRECT)
                and change.kind == Kind.WRITE
                and change.done is not None
                and change.done < before
                and change.end <= inode.size
            ),
            in_order=True,
        )

    @staticmethod
    def _grew(inode: Inode) -> bool:
        return any(c.kind != Kind.WRITE or c.end > inode.size for c in inode.pending)

    def _settle(
        self, ino: int, inode: Inode, which: Callable[[Change], bool], *, in_order: bool = False
    ) -> None:
        """Changes that survive from now on; in_order: up to the first other resize."""
        settled: list[Change] = []
        rest: list[Change] = []
        for index, change in enumerate(inode.pending):
            if in_order and change.kind != Kind.WRITE:
                rest += inode.pending[index:]
                break
            (settled if which(change) else rest).append(change)
        if not settled:
            return
        fd = os.open(self._contents.path(ino), os.O_WRONLY)
        try:
            inode.size = self._contents.apply(fd, settled, inode.size)
        finally:
            os.close(fd)
        if in_order and rest:
            # What an older write that may still be lost would write over is gone.
            for change in settled:
                older = _clip(
                    [c for c in rest if c.number < change.number], change.start, change.end
                )
                rest = older + [c for c in rest if c.number >= change.number]
        inode.pending = rest

    def _settle_sizes(self, ino: int, inode: Inode, before: int) -> None:
        """Truncations and allocations of one file; what is written to it may be lost still."""
        if all(c.kind == Kind.WRITE or c.number >= before for c in inode.pending):
            return
        fd = os.open(self._contents.path(ino), os.O_WRONLY)
        rest: list[Change] = []
        try:
            for change in inode.pending:
                if change.kind == Kind.WRITE or change.number >= before:
                    rest.append(change)
                    continue
                rest = clip_for(rest, change)
                if change.kind == Kind.TRUNCATE and change.start > inode.size:
                    os.ftruncate(fd, change.start)
                    inode.size = change.start
                else:
                    inode.size = resize(fd, change, inode.size)
        finally:
            os.close(fd)
        inode.pending = rest

    def _settle_names(self, namings: list[Naming]) -> None:
        # An entry's earlier changes come with a later one.
        chosen = set()
        for naming in namings:
            chosen.add(naming.number)
        entries = {(d, n) for naming in namings for d, n, _ in naming.entries}
        grown = True
        while grown and self.mode == "posix":
            grown = False
            last = {
                (d, n): naming.number
                for naming in self.namings
                if naming.number in chosen
                for d, n, _ in naming.entries
            }
            for naming in self.namings:
                if naming.number in chosen:
                    continue
                if any(last.get((d, n), -1) > naming.number for d, n, _ in naming.entries):
                    chosen.add(naming.number)
                    entries |= {(d, n) for d, n, _ in naming.entries}
                    grown = True
        for naming in self.namings:
            if naming.number in chosen:
                for directory, name, ino in naming.entries:
                    set_name(self.inodes[directory].names, name, ino)
        self.namings = [n for n in self.namings if n.number not in chosen]
        self._forget()

    def _forget(self) -> None:
        """Contents that no name leads to, and none can."""
        named = {ino for inode in self.inodes.values() for ino in inode.names.values()}
        named |= {ino for n in self.namings for _, _, ino in n.entries if ino is not None}
        named.add(ROOT)
        for ino in [i for i in self.inodes if i not in named]:
            # A server writes to files without a name, too.
            inode = self.inodes[ino]
            if inode.is_file and ino in self.seen:
                inode.pending.clear()

    # A failure

    def image(self, picker: Picker, target: Path) -> dict[str, int]:
        """Writes what a failure now leaves; returns counts of what was lost and kept."""
        counts = {"namings": len(self.namings), "namings_kept": 0}
        kept_before = picker.prefix(self) if self.mode != "posix" else None
        names = {ino: dict(inode.names) for ino, inode in self.inodes.items() if inode.is_dir}
        for naming in self._kept_names(picker, kept_before):
            counts["namings_kept"] += 1
            for directory, name, ino in naming.entries:
                set_name(names[directory], name, ino)
        counts |= {"writes": 0, "bytes_pending": 0, "bytes_kept": 0, "files_touched": 0}
        first: dict[int, Path] = {}

        def build(directory: int, path: Path) -> None:
            path.mkdir()
            for name, ino in names[directory].items():
                inode = self.inodes[ino]
                file = path / name
                if inode.is_dir:
                    build(ino, file)
                elif ino in first:
                    os.link(first[ino], file)
                elif inode.is_file:
                    self._image_of(ino, inode, file, picker, kept_before, counts)
                    first[ino] = file
                else:
                    os.symlink(inode.target, file)

        build(ROOT, target)
        forget_identities(target)
        return counts

    def _kept_names(self, picker: Picker, kept_before: int | None) -> list[Naming]:
        if kept_before is not None:
            return [n for n in self.namings if n.number < kept_before]
        kept = []
        lost: set[tuple[int, str]] = set()
        for naming in self.namings:
            entries = {(d, n) for d, n, _ in naming.entries}
            blocked = bool(entries & lost) or (
                naming.removes_directory and any(d == naming.ino for d, _ in lost)
            )
            if not blocked and picker.keeps_name(naming):
                kept.append(naming)
            else:
                lost |= entries
        return kept

    def _image_of(
        self,
        ino: int,
        inode: Inode,
        file: Path,
        picker: Picker,
        kept_before: int | None,
        counts: dict[str, int],
    ) -> None:
        copy(self._contents.path(ino), file)
        if not inode.pending:
            return
        size = inode.size
        writes: list[Change] = []
        with file.open("r+b", buffering=0) as opened:
            fd = opened.fileno()
            for change in inode.pending:
                if change.kind == Kind.WRITE:
                    writes.append(change)
                elif kept_before is not None:
                    if change.number >= kept_before:
                        break  # what was written later needs what is lost
                    writes = clip_for(writes, change)
                    size = resize(fd, change, size)
                elif picker.keeps_size(ino, change):
                    writes = clip_for(writes, change)
                    size = resize(fd, change, size)
            if not writes:
                return
            counts["writes"] += len(writes)
            counts["files_touched"] += 1
            counts["bytes_pending"] += sum(w.end - w.start for w in writes)
            pieces, new_size = picker.writes(ino, writes, size, ordered=kept_before is not None)
            view = self.log.view
            for change, start, end in pieces:
                where = change.where + start - change.start
                os.pwrite(fd, view[where : where + end - start], start)
                counts["bytes_kept"] += end - start
            os.ftruncate(fd, new_size)


def forget_identities(image: Path) -> None:
    """Takes inode, size and time of change out of lists of purged logs.

    An image's files have other inodes than those of the recording, and a server would
    take them for other files. Without these a line of the list is its name alone.
    """
    for file in image.rglob("*.~purge~"):
        text = file.read_bytes()
        names = re.sub(rb"\t\d+ \d+ \d+(?=\n)", b"", text)
        if names != text:
            file.write_bytes(names)


def clip_for(writes: list[Change], change: Change) -> list[Change]:
    """Writes that came before a truncation or a hole that survives."""
    if change.kind == Kind.TRUNCATE:
        return _clip(writes, change.start, None)
    if change.flags & PUNCH_HOLE:
        return _clip(writes, change.start, change.end)
    return writes


def set_name(names: dict[str, int], name: str, ino: int | None) -> None:
    if ino is None:
        names.pop(name, None)
    else:
        names[name] = ino


def copy(source: Path, target: Path) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        size = os.fstat(read.fileno()).st_size
        done = 0
        while done < size:
            n = os.sendfile(written.fileno(), read.fileno(), done, size - done)
            if n == 0:
                break
            done += n


class Picker:
    """Chooses, by a seed, which part of what was not synced is kept.

    lost    nothing
    kept    everything
    names   changes of names and sizes are kept, what was written is lost
    data    the other way round
    files   each file for itself: nothing, everything, or up to some write
    torn    each sector for itself
    last    everything, but the last writes of all are torn
    """

    def __init__(self, seed: str, policy: str, sector: int) -> None:
        self._dice = random.Random(seed)
        self.policy = policy
        self.sector = sector
        self._last: set[int] = set()
        #: How often a sector of torn files has what was written last, or what survived.
        self._newest, self._oldest = self._dice.choice([(0.45, 0.45), (0.8, 0.1), (0.1, 0.8)])

    def prefix(self, disk: Disk) -> int:
        """Number before which changes of names and sizes are kept."""
        places = [n.number for n in disk.namings]
        places += [
            c.number
            for inode in disk.inodes.values()
            for c in inode.pending
            if c.kind != Kind.WRITE
        ]
        self.look(disk)
        if self.policy in ("kept", "names", "last"):
            return disk.at + 1
        if self.policy in ("lost", "data") or not places:
            return 0
        return self._dice.choice([*sorted(places), disk.at + 1])

    def look(self, disk: Disk) -> None:
        if self.policy == "last":
            numbers = sorted(
                c.number
                for inode in disk.inodes.values()
                for c in inode.pending
                if c.kind == Kind.WRITE
            )
            self._last = set(numbers[-self._dice.randint(1, 4) :])

    def keeps_name(self, _naming: Naming) -> bool:
        if self.policy in ("files", "torn"):
            return self._dice.random() < 0.5
        return self.policy in ("kept", "names", "last")

    def keeps_size(self, _ino: int, _change: Change) -> bool:
        if self.policy in ("files", "torn"):
            return self._dice.random() < 0.5
        return self.policy != "lost"

    def writes(
        self, _ino: int, writes: list[Change], size: int, *, ordered: bool
    ) -> tuple[list[tuple[Change, int, int]], int]:
        """Pieces to write, in order, and the size of the file."""
        policy = self.policy
        whole = [(w, w.start, w.end) for w in writes]
        if policy in ("lost", "names"):
            return [], size
        if policy in ("kept", "data"):
            return whole, max(size, *(w.end for w in writes))
        if policy == "files":
            keep = self._dice.choice([0, len(writes), self._dice.randint(0, len(writes))])
            return whole[:keep], max([size, *(w.end for w in writes[:keep])])
        if policy == "last":
            untorn = [w.number not in self._last for w in writes]
        else:
            untorn = [False] * len(writes)
        return self._torn(writes, untorn, size, ordered=ordered)

    def _torn(
        self, writes: list[Change], untorn: list[bool], size: int, *, ordered: bool
    ) -> tuple[list[tuple[Change, int, int]], int]:
        sector = self.sector
        dice = self._dice.random
        count = len(writes)
        # The size is that after one of the writes.
        sizes = [size]
        for write in writes:
            sizes.append(max(sizes[-1], write.end))
        roll = dice()
        least = max((i + 1 for i, whole in enumerate(untorn) if whole), default=0)
        if roll < self._newest:
            after = count
        elif roll < self._newest + self._oldest:
            after = least
        else:
            after = self._dice.randint(least, count)
        new_size = sizes[after]
        #: For each sector the write up to which it is kept, -1 for none.
        newest: dict[int, int] = {}
        pieces: list[tuple[Change, int, int]] = []
        for index, write in enumerate(writes):
            begin = None
            for number in range(write.start // sector, (write.end + sector - 1) // sector):
                if untorn[index]:
                    kept = True
                else:
                    limit = newest.get(number)
                    if limit is None:
                        roll = dice()
                        if roll < self._newest:
                            limit = count
                        elif roll < self._newest + self._oldest:
                            limit = -1
                        else:
                            limit = self._dice.randint(index, count)
                        if ordered and size < (number + 1) * sector and write.start < new_size:
                            # Data that came with its allocation.
                            limit = max(limit, index, after - 1)
                        newest[number] = limit
                    kept = index <= limit
                start = max(write.start, number * sector)
                if kept and begin is None:
                    begin = start
                elif not kept and begin is not None:
                    pieces.append((write, begin, start))
                    begin = None
            if begin is not None:
                pieces.append((write, begin, write.end))
        return pieces, new_size
