# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What a failure may leave of a log that is made up; nothing is mounted."""

from __future__ import annotations

from pathlib import Path

import pytest
from model import MODES, Disk
from oplog import DATASYNC, DIRECT, HEADER, KEEP_SIZE, PUNCH_HOLE, ROOT, ZERO_RANGE, Kind, Log
from picker import Picker

FILE, OTHER, NEW = 16, 17, 18
PAGE = 4096


def record(
    kind: Kind, a: int = 0, b: int = 0, payload: bytes = b"", flags: int = 0, ino: int = FILE
) -> bytes:
    return HEADER.pack(len(payload), kind, flags, 0, ino, a, b) + payload


class Made:
    """A log that is made up, of two files that are there, each with a page of zeros."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._records: list[bytes] = []
        for ino, name in ((FILE, "file"), (OTHER, "other")):
            self.add(Kind.BASE, ROOT, 0o100644, name.encode(), ino=ino)
        (home / "base").mkdir()
        for name in ("file", "other"):
            (home / "base" / name).write_bytes(bytes(PAGE))

    def add(
        self,
        kind: Kind,
        a: int = 0,
        b: int = 0,
        payload: bytes = b"",
        flags: int = 0,
        ino: int = FILE,
    ) -> int:
        self._records.append(record(kind, a, b, payload, flags, ino))
        return len(self._records) - 1

    def write(self, at: int, flags: int = 0, ino: int = FILE, what: bytes = b"x") -> None:
        number = self.add(Kind.WRITE, at, payload=what * PAGE, flags=flags, ino=ino)
        self.add(Kind.DONE, number, ino=ino)

    def begin(self, ino: int = FILE, flags: int = 0) -> int:
        return self.add(Kind.SYNC, flags=flags, ino=ino)

    def sync(self, ino: int = FILE, flags: int = 0) -> None:
        self.add(Kind.SYNCED, self.begin(ino, flags), ino=ino)

    def rename(self) -> None:
        self.add(Kind.RENAME, ROOT, ROOT, b"other\0renamed", ino=OTHER)

    def left(self, mode: str, policy: str = "lost") -> Path:
        """What is there if all is lost that may be."""
        log = self._home / "log"
        log.write_bytes(b"".join(self._records))
        disk = Disk(Log(log), self._home / "base", self._home / f"disk-{mode}", mode)
        disk.advance(len(self._records))
        image = self._home / f"image-{mode}"
        disk.image(Picker("1", policy, 512), image)
        return image


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


JOURNALS = [mode for mode in MODES if mode != "posix"]


@pytest.mark.parametrize("mode", JOURNALS)
@pytest.mark.parametrize("flags", [0, DATASYNC])
def test_a_sync_of_a_file_that_did_not_change_keeps_no_name(
    made: Made, mode: str, flags: int
) -> None:
    made.rename()
    made.sync(flags=flags)
    made.write(0)  # no size, no allocation, and maybe no time
    made.sync(flags=flags)
    assert (made.left(mode) / "other").exists()


@pytest.mark.parametrize("mode", JOURNALS)
def test_a_sync_keeps_names_up_to_the_last_change_of_its_file(made: Made, mode: str) -> None:
    made.rename()
    made.write(PAGE)
    made.add(Kind.MKNOD, ROOT, 0o100644, b"new", ino=NEW)
    made.sync()
    left = made.left(mode)
    assert (left / "renamed").exists()
    assert not (left / "new").exists()


@pytest.mark.parametrize("mode", JOURNALS)
def test_what_another_sync_committed_is_not_committed_again(made: Made, mode: str) -> None:
    made.write(PAGE)
    made.add(Kind.TRUNCATE, 2 * PAGE, ino=OTHER)
    made.sync(OTHER)
    made.rename()
    made.sync(flags=DATASYNC)
    assert (made.left(mode) / "other").exists()


@pytest.mark.parametrize("mode", JOURNALS)
def test_a_change_while_a_sync_runs_does_not_make_it_commit(made: Made, mode: str) -> None:
    made.rename()
    begun = made.begin(flags=DATASYNC)
    made.write(PAGE, DIRECT)
    made.add(Kind.SYNCED, begun)
    assert (made.left(mode) / "other").exists()


@pytest.mark.parametrize("mode", JOURNALS)
@pytest.mark.parametrize("flags", [0, DATASYNC])
def test_a_new_time_of_change_is_for_fsync_alone(made: Made, mode: str, flags: int) -> None:
    made.rename()
    made.sync(OTHER, flags)
    assert (made.left(mode) / "renamed").exists() == (flags == 0)


HOLES = {
    "truncated": [(Kind.TRUNCATE, 2 * PAGE, 0, 0)],
    "allocated": [(Kind.FALLOCATE, PAGE, PAGE, 0)],
    "reserved": [(Kind.FALLOCATE, PAGE, PAGE, KEEP_SIZE), (Kind.TRUNCATE, 2 * PAGE, 0, 0)],
    "punched": [
        (Kind.WRITE, PAGE, 0, 0),
        (Kind.FALLOCATE, PAGE, PAGE, KEEP_SIZE | PUNCH_HOLE),
    ],
    "zeroed": [(Kind.WRITE, PAGE, 0, 0), (Kind.FALLOCATE, 0, 2 * PAGE, ZERO_RANGE)],
}


@pytest.mark.parametrize("mode", ["ordered", "protected"])
@pytest.mark.parametrize("hole", HOLES)
def test_a_direct_write_into_a_hole_needs_the_journal(made: Made, mode: str, hole: str) -> None:
    for kind, a, b, flags in HOLES[hole]:
        if kind == Kind.WRITE:
            made.write(a)
        else:
            made.add(kind, a, b, flags=flags)
    made.sync()
    made.write(PAGE, DIRECT)
    made.sync(OTHER)
    lost = (made.left(mode) / "file").read_bytes()[PAGE:]
    assert lost == bytes(PAGE)


@pytest.mark.parametrize("mode", JOURNALS)
@pytest.mark.parametrize("hole", [False, True])
def test_a_commit_keeps_what_a_direct_write_has_allocated(
    made: Made, mode: str, *, hole: bool
) -> None:
    if hole:
        made.add(Kind.FALLOCATE, PAGE, PAGE)
        made.sync()
    made.write(PAGE, DIRECT)
    made.write(PAGE, ino=OTHER)
    made.sync(OTHER)
    left = (made.left(mode) / "file").read_bytes()[PAGE:]
    assert (left == b"x" * PAGE) == (mode != "journal")


@pytest.mark.parametrize("mode", ["ordered", "protected"])
def test_a_direct_write_where_a_block_was_written_needs_no_journal(made: Made, mode: str) -> None:
    made.add(Kind.FALLOCATE, PAGE, PAGE)
    made.write(PAGE)
    made.sync()
    made.write(PAGE, DIRECT, what=b"y")
    made.sync(OTHER)
    assert (made.left(mode) / "file").read_bytes()[PAGE:] == b"y" * PAGE


def test_zeroes_are_kept(made: Made) -> None:
    made.write(0)
    made.add(Kind.FALLOCATE, 0, PAGE, flags=ZERO_RANGE)
    assert (made.left("posix", "kept") / "file").read_bytes() == bytes(PAGE)


@pytest.mark.parametrize("mode", MODES)
def test_the_last_write_is_torn(tmp_path: Path, mode: str) -> None:
    base, file = tmp_path / "base", tmp_path / "log"
    base.mkdir()
    (base / "file").write_bytes(bytes(4096))
    file.write_bytes(
        record(Kind.BASE, ROOT, 0o100644, b"file")
        + record(Kind.WRITE, payload=b"x" * 4096)
        + record(Kind.DONE, 1)
    )
    found = set()
    for seed in range(20):
        disk = Disk(Log(file), base, tmp_path / f"disk{seed}", mode)
        disk.advance(3)
        image = tmp_path / f"image{seed}"
        disk.image(Picker(str(seed), "last", 512), image)
        found.add((image / "file").read_bytes())
    assert len(found) > 1
