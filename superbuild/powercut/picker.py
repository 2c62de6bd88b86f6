# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Which part of what was not synced a failure keeps: chosen by a seed."""

from __future__ import annotations

import random

from changes import Change, Inode, Naming
from oplog import Kind

#: What is kept of what was not synced; see Picker.
POLICIES = ("lost", "kept", "names", "data", "files", "torn", "last")


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

    def prefix(self, namings: list[Naming], inodes: dict[int, Inode], at: int) -> int:
        """Number before which changes of names and sizes are kept."""
        places = [n.number for n in namings]
        places += [
            c.number for inode in inodes.values() for c in inode.pending if c.kind != Kind.WRITE
        ]
        if self.policy in ("kept", "names", "last"):
            return at + 1
        if self.policy in ("lost", "data") or not places:
            return 0
        return self._dice.choice([*sorted(places), at + 1])

    def look(self, inodes: dict[int, Inode]) -> None:
        if self.policy == "last":
            numbers = sorted(
                c.number for inode in inodes.values() for c in inode.pending if c.kind == Kind.WRITE
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
