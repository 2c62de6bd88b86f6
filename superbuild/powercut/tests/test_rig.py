# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Does the rig lose what may be lost, and nothing else?

Toy programs write in the ways servers do, once as they should and once with a
sync left out. The rig must find the second and must not blame the first.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from model import MODES, Disk
from oplog import Kind, Log
from picker import POLICIES, Picker
from recording import Recording

PAGE = 4096


class Toy:
    """A recorded program, and cuts of its power."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.base = home / "base"
        self.base.mkdir()
        self.log: Log | None = None

    def record(self, program: Callable[[Path, Recording], None]) -> None:
        with Recording(self.base, self.home / "recording", sync_delay=50) as recording:
            program(recording.mount, recording)
        self.log = Log(recording.log)

    def cuts(
        self, mode: str, lies: list[str] | None = None, policies: tuple[str, ...] = POLICIES
    ) -> Iterator[tuple[int, Path]]:
        """Each place of the log with an image of each policy."""
        assert self.log is not None
        disk = Disk(
            self.log,
            self.base,
            self.home / "disk",
            mode,
            [re.compile(lie) for lie in lies or []],
        )
        for at in range(disk.at, len(self.log.records) + 1):
            disk.advance(at)
            for policy in policies:
                image = self.home / "image"
                shutil.rmtree(image, ignore_errors=True)
                disk.image(Picker(f"{at} {policy}", policy, 512), image)
                yield at, image
        shutil.rmtree(self.home / "disk")

    def marked(self, at: int) -> list[str]:
        assert self.log is not None
        return [text for number, text in self.log.marks() if number < at]


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    return Toy(tmp_path)


def write_file(path: Path, data: bytes, *, sync: bool = True) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.write(fd, data)
    if sync:
        os.fsync(fd)
    os.close(fd)


def sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


# A log to which lines are appended: what was synced is there, whole, in order.


def append(mount: Path, recording: Recording, *, every: int = 1) -> None:
    fd = os.open(mount / "log", os.O_WRONLY | os.O_CREAT, 0o644)
    os.fsync(fd)
    sync_directory(mount)
    for number in range(1, 15):
        os.write(fd, f"{number:0299}\n".encode())
        if number % every == 0:
            os.fsync(fd)
        recording.mark(f"{number}\n")
    os.close(fd)


def lines_lost(toy: Toy, mode: str, lies: list[str] | None = None) -> int:
    lost = 0
    for at, image in toy.cuts(mode, lies):
        marks = toy.marked(at)
        if not marks:
            continue
        file = image / "log"
        there = file.read_bytes() if file.is_file() else b""
        want = b"".join(f"{n:0299}\n".encode() for n in range(1, int(marks[-1]) + 1))
        lost += not there.startswith(want)
    return lost


@pytest.mark.parametrize("mode", MODES)
def test_what_was_synced_survives(toy: Toy, mode: str) -> None:
    toy.record(append)
    assert lines_lost(toy, mode) == 0


@pytest.mark.parametrize("flag", [os.O_DSYNC, os.O_SYNC])
@pytest.mark.parametrize("mode", MODES)
def test_what_was_written_with_a_sync_survives(toy: Toy, mode: str, flag: int) -> None:
    def program(mount: Path, recording: Recording) -> None:
        write_file(mount / "log", b"")
        sync_directory(mount)
        fd = os.open(mount / "log", os.O_WRONLY | flag)
        for number in range(1, 15):
            os.write(fd, f"{number:0299}\n".encode())
            recording.mark(f"{number}\n")
        os.close(fd)

    toy.record(program)
    assert lines_lost(toy, mode) == 0


@pytest.mark.parametrize("mode", MODES)
def test_a_sync_left_out_is_found(toy: Toy, mode: str) -> None:
    toy.record(lambda mount, recording: append(mount, recording, every=4))
    assert lines_lost(toy, mode) > 0


@pytest.mark.parametrize("mode", MODES)
def test_a_sync_that_does_nothing_is_found(toy: Toy, mode: str) -> None:
    toy.record(append)
    assert lines_lost(toy, mode, lies=["log$"]) > 0


# A file replaced by rename: it is the old one or the new one.


def replace(mount: Path, recording: Recording, *, directory: bool, content: bool = True) -> None:
    write_file(mount / "file", b"0" * 3000)
    sync_directory(mount)
    recording.mark("0\n")
    for number in range(1, 8):
        write_file(mount / "new", str(number).encode() * 3000, sync=content)
        os.rename(mount / "new", mount / "file")
        if directory:
            sync_directory(mount)
        recording.mark(f"{number}\n")


def replaced(toy: Toy, mode: str) -> tuple[int, int]:
    """How often the file was neither old nor new, and how often too old."""
    broken = stale = 0
    for at, image in toy.cuts(mode):
        marks = toy.marked(at)
        if not marks:
            continue
        data = (image / "file").read_bytes()
        if len(data) != 3000 or data != data[:1] * 3000 or not data.isdigit():
            broken += 1
        elif int(data[:1]) < int(marks[-1]):
            stale += 1
    return broken, stale


@pytest.mark.parametrize("mode", MODES)
def test_a_rename_is_whole(toy: Toy, mode: str) -> None:
    toy.record(lambda mount, recording: replace(mount, recording, directory=True))
    assert replaced(toy, mode) == (0, 0)


@pytest.mark.parametrize("mode", MODES)
def test_a_directory_that_is_not_synced_is_found(toy: Toy, mode: str) -> None:
    toy.record(lambda mount, recording: replace(mount, recording, directory=False))
    broken, stale = replaced(toy, mode)
    assert broken == 0
    assert stale > 0


@pytest.mark.parametrize("mode", MODES)
def test_a_rename_before_the_content_is_synced_is_found(toy: Toy, mode: str) -> None:
    toy.record(lambda mount, recording: replace(mount, recording, directory=True, content=False))
    broken, _ = replaced(toy, mode)
    assert broken > 0


def test_a_new_name_survives_a_sync_of_the_file_only_with_a_journal(toy: Toy) -> None:
    def program(mount: Path, recording: Recording) -> None:
        write_file(mount / "file", b"x")
        recording.mark("1\n")

    toy.record(program)
    lost = {
        mode: sum(not (image / "file").exists() for at, image in toy.cuts(mode) if toy.marked(at))
        for mode in MODES
    }
    assert lost.pop("posix") > 0
    assert not any(lost.values())


# Pages written in place through a second copy, as a doublewrite does.


def pages(mount: Path, recording: Recording, *, copies: bool) -> None:
    direct = os.O_DIRECT | os.O_WRONLY | os.O_CREAT
    data = os.open(mount / "data", direct, 0o644)
    copy = os.open(mount / "copy", direct, 0o644)
    page = mmap.mmap(-1, PAGE)
    for fd in (data, copy):
        os.pwrite(fd, page, 0)
        os.fsync(fd)
    sync_directory(mount)
    for number in range(1, 15):
        page[:] = bytes([number]) * PAGE
        if copies:
            os.pwrite(copy, page, 0)
            os.fsync(copy)
        os.pwrite(data, page, 0)
        os.fsync(data)
        recording.mark(f"{number}\n")
    os.close(data)
    os.close(copy)


def pages_torn(toy: Toy, lies: list[str] | None = None) -> int:
    torn = 0
    for at, image in toy.cuts("posix", lies):
        marks = toy.marked(at)
        if not marks:
            continue
        contents = [(image / name).read_bytes() for name in ("data", "copy")]
        whole = [data for data in contents if data == data[:1] * PAGE and data]
        torn += not any(data[0] >= int(marks[-1]) for data in whole)
    return torn


def test_a_page_with_a_copy_is_never_torn(toy: Toy) -> None:
    toy.record(lambda mount, recording: pages(mount, recording, copies=True))
    assert pages_torn(toy) == 0


def test_a_page_without_a_copy_is_torn(toy: Toy) -> None:
    toy.record(lambda mount, recording: pages(mount, recording, copies=False))
    assert pages_torn(toy) > 0


def test_a_copy_that_is_not_synced_is_found(toy: Toy) -> None:
    toy.record(lambda mount, recording: pages(mount, recording, copies=True))
    assert pages_torn(toy, ["copy$"]) > 0


@pytest.mark.parametrize("mode", ["journal", "ordered", "protected"])
def test_a_write_within_a_file_does_not_need_a_lost_allocation_behind_it(
    toy: Toy, mode: str
) -> None:
    """A tablespace whose first page says that it is longer than it is."""

    def program(mount: Path, _recording: Recording) -> None:
        data = os.open(mount / "data", os.O_WRONLY | os.O_CREAT, 0o644)
        os.pwrite(data, b"o" * PAGE, 0)
        os.fsync(data)
        sync_directory(mount)
        os.posix_fallocate(data, 0, 2 * PAGE)
        os.pwrite(data, b"n" * PAGE, 0)
        os.pwrite(data, b"m" * PAGE, PAGE)
        os.close(data)

    toy.record(program)
    images = {
        (image / "data").read_bytes() for _, image in toy.cuts(mode) if (image / "data").exists()
    }
    assert b"n" * PAGE in images and b"o" * PAGE in images
    assert b"n" * PAGE + b"m" * PAGE in images
    # What was written into the allocation goes with it: sizes are lost, and what was written is kept.
    at_the_end = len(toy.log.records) if toy.log else 0
    for at, image in toy.cuts(mode, policies=("data",)):
        assert at < at_the_end or (image / "data").read_bytes() == b"n" * PAGE


def test_one_device_keeps_direct_writes_that_another_files_sync_followed(toy: Toy) -> None:
    def program(mount: Path, recording: Recording) -> None:
        data = os.open(mount / "data", os.O_DIRECT | os.O_WRONLY | os.O_CREAT, 0o644)
        page = mmap.mmap(-1, PAGE)
        os.pwrite(data, page, 0)
        os.fsync(data)
        sync_directory(mount)
        page[:] = b"x" * PAGE
        os.pwrite(data, page, 0)
        write_file(mount / "other", b"y")
        recording.mark("1\n")
        os.close(data)

    toy.record(program)
    lost = {
        mode: sum(
            (image / "data").read_bytes() != b"x" * PAGE
            for at, image in toy.cuts(mode)
            if toy.marked(at)
        )
        for mode in MODES
    }
    assert lost["ordered"] == lost["protected"] == 0
    assert lost["journal"] > 0
    assert lost["posix"] > 0


def test_a_protected_device_keeps_direct_writes_that_have_ended(toy: Toy) -> None:
    def program(mount: Path, recording: Recording) -> None:
        data = os.open(mount / "data", os.O_DIRECT | os.O_WRONLY | os.O_CREAT, 0o644)
        page = mmap.mmap(-1, PAGE)
        os.pwrite(data, page, 0)
        os.fsync(data)
        sync_directory(mount)
        page[:] = b"x" * PAGE
        os.pwrite(data, page, 0)
        recording.mark("1\n")
        os.pwrite(data, page, PAGE)  # needs an allocation
        recording.mark("2\n")
        os.close(data)

    toy.record(program)
    lost = {
        mode: {
            mark: sum(
                (image / "data").read_bytes()[start : start + PAGE] != b"x" * PAGE
                for at, image in toy.cuts(mode)
                if mark in toy.marked(at)
            )
            for mark, start in (("1", 0), ("2", PAGE))
        }
        for mode in ("ordered", "protected")
    }
    assert lost["protected"]["1"] == 0
    assert lost["protected"]["2"] > 0
    assert lost["ordered"]["1"] > 0


# What a recorder must not miss


def test_mapped_files_holes_and_sizes_are_recorded(toy: Toy) -> None:
    (toy.base / "old").write_bytes(b"o" * 3 * PAGE)

    def program(mount: Path, recording: Recording) -> None:
        fd = os.open(mount / "old", os.O_RDWR)
        with mmap.mmap(fd, 3 * PAGE) as mapped:
            mapped[PAGE : PAGE + 4] = b"mmap"
            mapped.flush()
        libc = ctypes.CDLL(None, use_errno=True)
        hole = 1 | 2  # KEEP_SIZE, PUNCH_HOLE
        assert libc.fallocate(fd, hole, ctypes.c_long(0), ctypes.c_long(PAGE)) == 0
        os.posix_fallocate(fd, 0, 4 * PAGE)
        os.ftruncate(fd, 5 * PAGE)
        os.link(mount / "old", mount / "second")
        os.symlink("old", mount / "link")
        os.fsync(fd)
        os.close(fd)
        sync_directory(mount)
        recording.mark("1\n")

    toy.record(program)
    want = bytes(PAGE) + b"mmap" + b"o" * (2 * PAGE - 4) + bytes(2 * PAGE)
    seen = 0
    for at, image in toy.cuts("posix"):
        if toy.marked(at):
            seen += 1
            assert (image / "old").read_bytes() == want
            assert (image / "second").samefile(image / "old")
            assert (image / "link").readlink() == Path("old")
        else:
            assert not (image / "old").read_bytes().startswith(b"mmap")
    assert seen == len(POLICIES)


def test_native_asynchronous_direct_writes_are_recorded(toy: Toy) -> None:
    libaio = pytest.importorskip("ctypes.util").find_library("aio")
    if libaio is None:
        pytest.skip("no libaio")
    aio = ctypes.CDLL(libaio)

    class Iocb(ctypes.Structure):
        _fields_ = [
            ("data", ctypes.c_uint64),
            ("key", ctypes.c_uint32),
            ("flags", ctypes.c_uint32),
            ("opcode", ctypes.c_int16),
            ("priority", ctypes.c_int16),
            ("fd", ctypes.c_uint32),
            ("buffer", ctypes.c_uint64),
            ("length", ctypes.c_uint64),
            ("offset", ctypes.c_int64),
            ("rest", ctypes.c_uint64 * 2),
        ]

    def program(mount: Path, recording: Recording) -> None:
        fd = os.open(mount / "data", os.O_DIRECT | os.O_RDWR | os.O_CREAT, 0o644)
        os.ftruncate(fd, 8 * PAGE)
        context = ctypes.c_void_p(0)
        assert aio.io_setup(8, ctypes.byref(context)) == 0
        page = mmap.mmap(-1, 8 * PAGE)
        for number in range(8):
            page[number * PAGE : (number + 1) * PAGE] = bytes([number + 1]) * PAGE
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        blocks = [
            Iocb(opcode=1, fd=fd, buffer=address + n * PAGE, length=PAGE, offset=n * PAGE)
            for n in range(8)
        ]
        pointers = (ctypes.POINTER(Iocb) * 8)(*(ctypes.pointer(block) for block in blocks))
        assert aio.io_submit(context, ctypes.c_long(8), pointers) == 8
        events = (ctypes.c_uint64 * 32)()
        assert aio.io_getevents(context, ctypes.c_long(8), ctypes.c_long(8), events, None) == 8
        os.fsync(fd)
        sync_directory(mount)
        recording.mark("1\n")
        aio.io_destroy(context)
        os.close(fd)

    toy.record(program)
    assert toy.log is not None
    assert sum(record.kind == Kind.WRITE for record in toy.log.records) == 8
    want = b"".join(bytes([n + 1]) * PAGE for n in range(8))
    for at, image in toy.cuts("posix"):
        if toy.marked(at):
            assert (image / "data").read_bytes() == want


# Seeds


def test_a_seed_repeats_an_image(toy: Toy) -> None:
    toy.record(lambda mount, recording: append(mount, recording, every=4))
    assert toy.log is not None
    found = []
    for number in range(2):
        disk = Disk(toy.log, toy.base, toy.home / f"disk{number}", "posix")
        disk.advance(40)
        image = toy.home / f"image{number}"
        disk.image(Picker("seed", "torn", 512), image)
        found.append((image / "log").read_bytes() if (image / "log").exists() else b"")
    assert found[0] == found[1]


def test_a_list_of_purged_logs_names_the_files_of_the_image(toy: Toy) -> None:
    """Inodes of the recording mean other files, or none, in an image."""

    def program(mount: Path, _recording: Recording) -> None:
        write_file(mount / "b.~purge~", b"./b.000001\t54 100 1795\n./b.000002\n./b.0000")
        sync_directory(mount)

    toy.record(program)
    *_, (_, image) = toy.cuts("posix", policies=("kept",))
    assert (image / "b.~purge~").read_bytes() == b"./b.000001\n./b.000002\n./b.0000"
