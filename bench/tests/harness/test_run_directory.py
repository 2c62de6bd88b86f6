# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A run that goes on is the same run."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest

from harness import capacity, run_directory
from harness.errors import BenchError
from harness.run_directory import Remark, RunDirectory
from harness.scenario import Choice, Dataset, Point
from harness.server_definition import ServerDefinition
from tests.harness.test_plan import Three


@pytest.fixture
def server(tmp_path: Path) -> ServerDefinition:
    binary = tmp_path / "mysqld"
    binary.write_text("one")
    return ServerDefinition("one", "one", binary, tmp_path, tmp_path, "9.")


def begin(path: Path, server: ServerDefinition, choice: Choice) -> RunDirectory:
    return run_directory.begin(path, [Three(choice)], [server], choice, {"three": 5}, {})


def test_the_same_again_goes_on(tmp_path: Path, server: ServerDefinition) -> None:
    first = begin(tmp_path / "run", server, Choice())
    first.remark(Remark("three", "one", "n=1", 1, "failed", "once"))
    again = begin(tmp_path / "run", server, Choice())
    assert again.content["begun"] == first.content["begun"]
    assert again.remarks == []  # what failed is tried again


def test_another_choice_is_another_run(tmp_path: Path, server: ServerDefinition) -> None:
    begin(tmp_path / "run", server, Choice())
    with pytest.raises(BenchError, match="give the same again, or another RUN="):
        begin(tmp_path / "run", server, Choice(seconds=3))


def test_quick_is_for_the_whole_run(tmp_path: Path, server: ServerDefinition) -> None:
    begin(tmp_path / "run", server, Choice())
    with pytest.raises(BenchError, match="was begun without QUICK=1"):
        begin(tmp_path / "run", server, Choice(quick=True))


class Four(Three):
    name = "four"


def test_another_scenario_has_a_choice_of_its_own(tmp_path: Path, server: ServerDefinition) -> None:
    begin(tmp_path / "run", server, Choice())
    choice = Choice(seconds=3, variants={"of_another": "1"})
    run_directory.begin(tmp_path / "run", [Four(choice)], [server], choice, {"four": 5}, {})
    run = begin(tmp_path / "run", server, Choice())
    assert run.content["asked"]["four"] == {"seconds": 3, "variants": {}}
    assert run.content["asked"]["three"] == {"seconds": None, "variants": {}}


def test_a_rebuilt_server_is_another_run(tmp_path: Path, server: ServerDefinition) -> None:
    begin(tmp_path / "run", server, Choice())
    server.mysqld.write_text("rebuilt")
    os.utime(server.mysqld, (1, 1))
    with pytest.raises(BenchError, match="the server one changed"):
        begin(tmp_path / "run", server, Choice())


def test_another_server_may_join(tmp_path: Path, server: ServerDefinition) -> None:
    begin(tmp_path / "run", server, Choice())
    run = begin(tmp_path / "run", dataclasses.replace(server, name="two"), Choice())
    assert run.content["servers"] == ["one", "two"]


def test_a_directory_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="holds no run"):
        run_directory.load(tmp_path)


class Huge(Three):
    def points(self) -> list[Point]:
        return [Point(Dataset("huge", disk_bytes=2**60), {"n": 1}, 1)]


class Thirsty(Three):
    def points(self) -> list[Point]:
        return [Point(Dataset("thirsty", 0, memory_bytes=2**60), {"n": 1}, 1)]


def test_too_little_disk_or_memory(tmp_path: Path, server: ServerDefinition) -> None:
    with pytest.raises(BenchError, match=r"not enough disk: \d+\.\d GiB are needed"):
        capacity.check([Huge(Choice())], [server], tmp_path, keep=False)
    with pytest.raises(BenchError, match=r"not enough memory: what runs at a time takes up to"):
        capacity.check([Thirsty(Choice())], [server], tmp_path, keep=False)
    capacity.check([Three(Choice())], [server], tmp_path, keep=False)
    with pytest.raises(BenchError, match="not enough disk"):
        capacity.check([Three(Choice())], [server], tmp_path, keep=False, redo_bytes=2**60)
