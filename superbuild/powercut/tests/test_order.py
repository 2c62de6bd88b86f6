# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Does the rig see each write that comes too early, and blame no other?

A toy writes one page as InnoDB does; each test leaves out or moves one step.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import matrix
import pytest
import rig
from oplog import Log
from order import BLOCK, CHECKPOINTS, PAGE, REDO_HEADER, look, violations
from recording import Recording
from rounds import Table, good

START = 8192 * BLOCK  #: LSN of the first block of the redo file
REDO, COPIES, TABLE = (
    f"data/{name}" for name in ("#innodb_redo/#ib_redo1", "#ib_16384_0.dblwr", "pc/t.ibd")
)


def lsn_of(block: int) -> int:
    """That a block of records ends at."""
    return START + block * BLOCK + 100


class Toy:
    """A file each for redo, copies and pages."""

    def __init__(self, mount: Path) -> None:
        self._files = {name: os.open(mount / name, os.O_RDWR) for name in (REDO, COPIES, TABLE)}

    def close(self) -> None:
        for fd in self._files.values():
            os.close(fd)

    def sync(self, name: str) -> None:
        os.fsync(self._files[name])

    def redo(self, block: int) -> None:
        data = bytearray(BLOCK)
        data[0:4] = (START // BLOCK + block + 1).to_bytes(4)
        data[4:6] = (100).to_bytes(2)
        os.pwrite(self._files[REDO], data, REDO_HEADER + block * BLOCK)

    def checkpoint(self, lsn: int) -> None:
        data = bytearray(BLOCK)
        data[8:16] = lsn.to_bytes(8)
        os.pwrite(self._files[REDO], data, CHECKPOINTS[0])

    def page(self, name: str, at: int, number: int, lsn: int, pages: int = 1) -> None:
        data = bytearray(pages * PAGE)
        data[4:8] = number.to_bytes(4)
        data[16:24] = lsn.to_bytes(8)
        data[34:38] = (5).to_bytes(4)
        os.pwrite(self._files[name], data, at * PAGE)


def broken(home: Path, program: Callable[[Toy], None], lies: tuple[str, ...] = ()) -> set[str]:
    """The rules that it breaks."""
    base = home / "base"
    for name, size in ((REDO, 65536), (COPIES, 4 * PAGE), (TABLE, 8 * PAGE)):
        file = base / name
        file.parent.mkdir(parents=True, exist_ok=True)
        data = bytearray(size)
        if name == REDO:
            data[8:16] = START.to_bytes(8)
        file.write_bytes(data)
    with Recording(base, home / "recording", sync_delay=50) as recording:
        toy = Toy(recording.mount)
        program(toy)
        toy.close()
    recording.log.rename(home / "log")
    return {text.split(":")[0] for _, text in violations(Log(home / "log"), base, lies)}


STEPS: list[tuple[str, Callable[[Toy], None]]] = [
    ("redo", lambda toy: toy.redo(0)),
    ("redo synced", lambda toy: toy.sync(REDO)),
    ("copy", lambda toy: toy.page(COPIES, 1, 3, lsn_of(0))),
    ("copy synced", lambda toy: toy.sync(COPIES)),
    ("page", lambda toy: toy.page(TABLE, 3, 3, lsn_of(0))),
    ("page synced", lambda toy: toy.sync(TABLE)),
    ("copy written over", lambda toy: toy.page(COPIES, 1, 4, lsn_of(0))),
    ("checkpoint", lambda toy: toy.checkpoint(lsn_of(0) + 1)),
]


def without(left_out: str) -> Callable[[Toy], None]:
    def program(toy: Toy) -> None:
        for name, step in STEPS:
            if name != left_out:
                step(toy)

    return program


def test_the_order_of_innodb_breaks_no_rule(tmp_path: Path) -> None:
    assert broken(tmp_path, without("nothing")) == set()


@pytest.mark.parametrize(
    ("left_out", "rules"),
    [
        ("redo", {"redo first"}),
        ("redo synced", {"redo first"}),
        ("copy", {"whole copy"}),
        ("copy synced", {"whole copy"}),
        ("page synced", {"whole copy", "checkpoint"}),
        ("copy written over", set()),
    ],
)
def test_a_step_left_out_breaks_a_rule(tmp_path: Path, left_out: str, rules: set[str]) -> None:
    assert broken(tmp_path, without(left_out)) == rules


def test_a_rule_that_the_settings_do_not_promise_is_not_broken(tmp_path: Path) -> None:
    broken(tmp_path, without("page synced"))
    for rules in (("redo first", "checkpoint"), ("redo first",)):
        found, _ = look(Log(tmp_path / "log"), tmp_path, rules=rules)
        assert {text.partition(":")[0] for _, text in found} == set(rules) & {"checkpoint"}


def test_which_rules_settings_promise() -> None:
    rules = {entry.name: entry.rules for entry in matrix.ENTRIES}
    assert rules["fsync"] == matrix.RULES
    assert rules["features"] == ("redo first", "checkpoint")
    assert rules["no-fsync"] == ("redo first",)
    assert rules["doublewrite-off"] == rules["redo-off"] == rules["encrypted"] == ()


def test_a_copy_that_is_too_old_is_none(tmp_path: Path) -> None:
    def program(toy: Toy) -> None:
        without("nothing")(toy)
        toy.redo(1)
        toy.sync(REDO)
        toy.page(COPIES, 2, 3, lsn_of(0))
        toy.sync(COPIES)
        toy.page(TABLE, 3, 3, lsn_of(1))

    assert broken(tmp_path, program) == {"whole copy"}


def test_a_second_copy_is_enough(tmp_path: Path) -> None:
    def program(toy: Toy) -> None:
        for _, step in STEPS[:4]:
            step(toy)
        toy.page(COPIES, 2, 3, lsn_of(0))
        toy.sync(COPIES)
        toy.page(TABLE, 3, 3, lsn_of(0))
        toy.page(COPIES, 1, 4, lsn_of(0))

    assert broken(tmp_path, program) == set()


def test_a_sync_of_another_file_does_not_count(tmp_path: Path) -> None:
    def program(toy: Toy) -> None:
        for name, step in STEPS:
            if name == "page synced":
                toy.sync(REDO)
            else:
                step(toy)

    assert broken(tmp_path, program) == {"whole copy", "checkpoint"}


def test_a_sync_that_does_nothing_does_not_count(tmp_path: Path) -> None:
    assert broken(tmp_path, without("nothing"), (r"\.ibd$",)) == {"whole copy", "checkpoint"}


def test_a_write_of_many_pages_is_looked_at(tmp_path: Path) -> None:
    assert broken(tmp_path, lambda toy: toy.page(TABLE, 3, 3, lsn_of(0), 2)) == {
        "redo first",
        "whole copy",
    }


@pytest.mark.parametrize(
    ("left_out", "nothing"),
    [
        ((), []),
        (("page",), ["no pages"]),
        (("copy", "copy written over", "page"), ["no pages", "no copies"]),
        (("checkpoint",), ["no checkpoints"]),
    ],
)
@pytest.mark.parametrize("recovery", [False, True])
def test_a_recording_with_nothing_to_look_at_is_no_proof(
    tmp_path: Path, left_out: tuple[str, ...], nothing: list[str], *, recovery: bool
) -> None:
    def program(toy: Toy) -> None:
        for name, step in STEPS:
            if name not in left_out:
                step(toy)

    broken(tmp_path, program)
    if recovery:
        (tmp_path / "marks").touch()
    found, looked = look(Log(tmp_path / "log"), tmp_path)
    assert [text for _, text in found] == ([] if recovery else nothing)
    assert set(looked) == {"pages", "copies", "checkpoints"}


@pytest.mark.parametrize(("left_out", "results"), [("nothing", []), ("copy synced", ["order"])])
def test_a_broken_order_is_a_failed_round(
    tmp_path: Path, left_out: str, results: list[str]
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    broken(place, without(left_out))
    table = Table(tmp_path / "rounds.csv")
    log = Log(place / "log")
    rig.look_at_order(SimpleNamespace(preset="debug"), matrix.ENTRIES[2], place, log, table)
    assert list(table.results) == results
    assert not any(good(result) for result in results)
    assert (place / "needed").exists() == bool(results)


@pytest.mark.parametrize(
    ("place", "mutant", "error"),
    [("none", "", "none' is not the folder"), ("", "no sync of cables", "no sync of cables")],
)
def test_what_cannot_be_looked_at_is_named(
    tmp_path: Path, place: str, mutant: str, error: str
) -> None:
    (tmp_path / "log").touch()
    arguments = argparse.Namespace(failure=str(tmp_path / place), matrix=mutant)
    with pytest.raises(SystemExit, match=error):
        rig.order(arguments)
