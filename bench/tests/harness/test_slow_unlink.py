# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The shim slow_unlink.c: who sleeps, for how long, and what it notes."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest

from harness import shim

_MIB = 2**20


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shim.build("slow_unlink", tmp_path_factory.mktemp("shim"))


class Sandbox:
    def __init__(self, library: Path, directory: Path) -> None:
        self.slow = directory / "slow"
        self.other = directory / "slow-not"
        self.slow.mkdir()
        self.other.mkdir()
        self.log = directory / "log"
        self._environment = os.environ | {
            "LD_PRELOAD": str(library),
            "SLOW_UNLINK_UNDER": str(self.slow),
            "SLOW_UNLINK_SECONDS_PER_GIB": "128",  # an eighth of a second for a MiB
            "SLOW_UNLINK_LOG": str(self.log),
        }

    def run(self, *command: str) -> float:
        began = time.monotonic()
        subprocess.run(command, env=self._environment, cwd=self.slow, check=True)
        return time.monotonic() - began

    def logged(self) -> list[tuple[str, int, float]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        words = [line.split() for line in lines]
        return [
            (call, int(given_back), float(seconds)) for _, call, given_back, seconds, _ in words
        ]


@pytest.fixture
def sandbox(library: Path, tmp_path: Path) -> Sandbox:
    return Sandbox(library, tmp_path)


def fill(path: Path, size: int = _MIB) -> Path:
    path.write_bytes(b"x" * size)
    os.sync()  # space is given out when it is written
    return path


def test_unlink_takes_time_in_proportion(sandbox: Sandbox) -> None:
    file = fill(sandbox.slow / "file")
    assert sandbox.run("rm", "file") >= 0.125
    assert not file.exists()
    ((call, given_back, seconds),) = sandbox.logged()
    assert call.startswith("unlink")
    assert given_back == pytest.approx(_MIB, rel=0.02)
    assert seconds == pytest.approx(0.125, rel=0.02)


def test_truncation_pays_for_what_it_gives_back(sandbox: Sandbox) -> None:
    fill(sandbox.slow / "file", 2 * _MIB)
    sandbox.run("truncate", "--size=1M", "file")
    sandbox.run("truncate", "--size=8M", "file")  # grows: nothing is given back
    (only,) = sandbox.logged()
    assert only[1] == pytest.approx(_MIB, rel=0.02)


def test_what_frees_nothing_costs_nothing(sandbox: Sandbox) -> None:
    fill(sandbox.other / "file")
    sandbox.run("rm", str(sandbox.other / "file"))  # another directory, though alike by name
    linked = fill(sandbox.slow / "linked")
    (sandbox.other / "name").hardlink_to(linked)
    sandbox.run("rm", "linked")  # another name is left
    with (sandbox.slow / "sparse").open("wb") as sparse:
        sparse.truncate(64 * _MIB)
    sandbox.run("rm", "sparse")  # occupies nothing
    assert sandbox.logged() == []


def test_a_name_from_elsewhere_is_resolved(sandbox: Sandbox) -> None:
    fill(sandbox.slow / "file")
    sandbox.run("rm", "../slow/../slow/file")
    assert len(sandbox.logged()) == 1
