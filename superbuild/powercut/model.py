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
           point. A sync makes them survive up to the last one of its own file or
           directory. What a file grew by a write has its data.
ordered    The same on one device with a cache, which each sync empties: then an
           O_DIRECT write survives the sync of any file, if its allocation did.
protected  The same on a device whose cache survives the failure: such a write
           survives as soon as it has ended and its allocation survives.

In all, of what was written into a file since its sync each sector may have any
content that it had meanwhile.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path

from changes import Change, Extent, Inode, Naming, clip, clip_for, resize, set_name
from oplog import DATASYNC, DIRECT, ROOT, Kind, Log, Record
from picker import Picker

MODES = ("posix", "journal", "ordered", "protected")
SCRATCH = re.compile(r"/ibtmp\d+$|/#innodb_temp/")


class Contents:
    """Files by number in a directory."""

    def __init__(self, folder: Path, log: Log) -> None:
        self.folder = folder
        self._log = log

    def path(self, ino: int) -> Path:
        return self.folder / str(ino)

    def apply(self, fd: int, changes: list[Change], extent: Extent) -> None:
        view = self._log.view
        for change in changes:
            if change.kind == Kind.WRITE:
                data = view[change.where : change.where + change.end - change.start]
                os.pwrite(fd, data, change.start)
            else:
                resize(fd, change, extent.size)
            extent.apply(change)


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
        self.committed = 0  #: records before this one, as far as they are in the journal
        self._grows: set[int] = set()  #: writes that change size or allocation, and have not ended
        self._wanted: dict[int, int] = {}  #: syncs that have begun: record to commit
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
                inode.kept.size = inode.now.size = path.stat().st_size
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
            end = record.a + record.length
            change = Change(record.number, kind, record.a, end, record.where, None, record.flags)
            if inode.now.grows(change):
                self._grows.add(record.number)
            self._changes(record.ino, inode, change)
        elif kind == Kind.DONE:
            assert inode is not None
            for change in reversed(inode.pending):
                if change.number == record.a:
                    change.done = record.number
                    break
            if record.a in self._grows:
                self._grows.remove(record.a)
                inode.touched = max(inode.touched, record.a)
            if self.mode == "protected":
                self._empty_device(record.ino, inode, record.number + 1)
        elif kind in (Kind.TRUNCATE, Kind.FALLOCATE):
            if inode is None:  # the marks
                return
            end = record.a + (record.b if kind == Kind.FALLOCATE else 0)
            change = Change(record.number, kind, record.a, end, 0, record.number, record.flags)
            self._changes(record.ino, inode, change)
            inode.touched = record.number
        elif kind == Kind.SYNC:
            if inode is not None:
                last = inode.touched
                if not record.flags & DATASYNC:
                    last = max(last, inode.changed)
                self._wanted[record.number] = last
        elif kind == Kind.SYNCED:
            self._synced(record.ino, self.log.records[record.a])
        elif kind in (Kind.MKNOD, Kind.LINK, Kind.UNLINK, Kind.RENAME):
            self._renamed(record)

    def _changes(self, ino: int, inode: Inode, change: Change) -> None:
        self._dirty.add(ino)
        inode.pending.append(change)
        inode.now.apply(change)

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
            inode = Inode(record.b, target[0] if target else "", touched=record.number)
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
        # Of a file that has another name ext4 has only the time of change to write.
        inode.changed = record.number
        for directory, _, _ in entries:
            self.inodes[directory].touched = record.number
        self.namings.append(
            Naming(record.number, ino, entries, kind == Kind.UNLINK and inode.is_dir)
        )

    def _synced(self, ino: int, begun: Record) -> None:
        inode = self.inodes.get(ino)
        if inode is None:
            return
        last = self._wanted.pop(begun.number)
        path = self.path(ino)
        if any(lie.search(path + "/" if inode.is_dir else path) for lie in self._lies):
            self.ignored += 1
            return
        before = begun.number
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
        if last >= self.committed:
            self.committed = last + 1
            self._settle_names([n for n in self.namings if n.number <= last])
            for number in self._dirty:
                self._settle_sizes(number, self.inodes[number], last + 1)
        if self.mode != "journal":
            for number in self._dirty:
                self._empty_device(number, self.inodes[number], before)
        self._dirty = {number for number in self._dirty if self.inodes[number].pending}

    def _empty_device(self, ino: int, inode: Inode, before: int) -> None:
        """What O_DIRECT has written survives with its allocation: the kernel tells the journal
        that a block was written before the write ends."""
        self._settle(
            ino,
            inode,
            lambda change: (
                bool(change.flags & DIRECT)
                and change.kind == Kind.WRITE
                and change.done is not None
                and change.done < before
                and (change.done < self.committed or not inode.kept.grows(change))
            ),
            in_order=True,
        )

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
            self._contents.apply(fd, settled, inode.kept)
        finally:
            os.close(fd)
        if in_order and rest:
            # What an older write that may still be lost would write over is gone.
            for change in settled:
                older = clip(
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
                self._contents.apply(fd, [change], inode.kept)
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
        picker.look(self.inodes)
        kept_before = (
            picker.prefix(self.namings, self.inodes, self.at) if self.mode != "posix" else None
        )
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
        size = inode.kept.size
        below: int | None = None  # what is written from here on needs an allocation that is lost
        writes: list[Change] = []
        with file.open("r+b", buffering=0) as opened:
            fd = opened.fileno()
            for change in inode.pending:
                if change.kind == Kind.WRITE:
                    if below is None or change.end <= below:
                        writes.append(change)
                elif kept_before is not None:
                    if change.number >= kept_before:
                        if change.allocates_only:
                            below = size
                            continue
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


def copy(source: Path, target: Path) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        size = os.fstat(read.fileno()).st_size
        done = 0
        while done < size:
            n = os.sendfile(written.fileno(), read.fileno(), done, size - done)
            if n == 0:
                break
            done += n
