# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Each tool: its help, bad input, and a server that is not built. No server is started."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness import places
from harness.errors import BenchError
from tools import tool

_TOOLS = places.BENCH / "tools"
_PYTHON = sorted(p.stem for p in _TOOLS.glob("*.py") if p.stem not in ("__init__", "tool"))
_SHELL = sorted(p.stem for p in _TOOLS.glob("*.sh") if p.stem != "common")
_BAD = {
    "cpu_profile": ("--clients=0", "--pool=much", "--load=none", "--rounds=x"),
    "slow_statements": ("--clients=0", "--pool=much", "--load=none", "--seconds=soon"),
    "lru_cost": ("--cases=nonsense", "--seconds=soon", "--table=0"),
    "whatif": (
        "--cases=nonsense",
        "--sizes=0",
        "--times=-1",
        "--pcts=0",
        "--instances=0",
        "--rate=0",
    ),
    "instructions": ("--rounds=0", "--pool=much", "--loads=../x", "--prepared=1", "--nonsense=1"),
    "page_io_mutex": ("--seconds=", "--servers=stock mariadb", "--lines=2", "--pool=1T"),
    "walkthrough": ("--rounds=1",),
}


def _run(
    name: str, *options: str, root: Path = places.ROOT, path: str = ""
) -> tuple[int, str, str]:
    if name in _PYTHON:
        command = [sys.executable, "-m", f"tools.{name}", *options]
    else:
        command = [str(root / "bench" / "tools" / f"{name}.sh"), *options]
    environment = os.environ | {"PYTHONPATH": str(root / "bench")}
    if path:
        environment |= {"PATH": f"{path}:{environment['PATH']}"}
    done = subprocess.run(
        command, cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def _target(name: str) -> str:
    return f"bench-{name.replace('_', '-')}"


def test_each_tool_is_a_target_and_is_listed() -> None:
    makefile = (places.ROOT / "Makefile").read_text()
    listed = (_TOOLS / "README.md").read_text()
    for name in (*_PYTHON, *_SHELL):
        assert f"\n{_target(name)}: " in makefile
        assert f"`make {_target(name)}`" in listed and name in listed
    assert set(_BAD) == {*_PYTHON, *_SHELL}


@pytest.mark.parametrize("name", [*_PYTHON, *_SHELL])
def test_help(name: str) -> None:
    status, said, complaints = _run(name, "--help")
    assert (status, complaints) == (0, "")
    assert f"make {_target(name)}" in said


@pytest.mark.parametrize(
    ("name", "option"), [(name, option) for name, options in _BAD.items() for option in options]
)
def test_bad_input_ends_before_anything_is_started(name: str, option: str) -> None:
    status, said, complaints = _run(name, option)
    assert (status, said) == (2, "")
    assert f"{_target(name)}: error: " in complaints.splitlines()[-1]
    assert option.partition("=")[0].lstrip("-") in complaints


@pytest.mark.parametrize("name", _SHELL)
def test_a_server_that_is_not_built_is_named(name: str, tmp_path: Path) -> None:
    root = tmp_path / "checkout"
    shutil.copytree(_TOOLS, root / "bench" / "tools")
    for program in ("sysbench", "valgrind", "callgrind_control"):
        stand_in = tmp_path / "programs" / program
        stand_in.parent.mkdir(exist_ok=True)
        stand_in.write_text("#!/bin/sh\n")
        stand_in.chmod(0o755)
    status, _, complaints = _run(name, root=root, path=str(tmp_path / "programs"))
    assert status == 1
    assert "there is no server of the preset" in complaints and "builds it" in complaints


def test_the_tools_in_python_name_it_too(tmp_path: Path) -> None:
    file = tmp_path / "missing.toml"
    file.write_text(
        'title = "missing"\nmysqld = "no/mysqld"\nbasedir = "."\nmessages = "."\n'
        'version = "9."\nbuild = "make missing"\n'
    )
    with pytest.raises(BenchError, match="there is no server .*no/mysqld; 'make missing' makes it"):
        tool.server(str(file))


def test_words_as_make_and_as_the_notes_write_them() -> None:
    assert tool.words("stock sluice") == tool.words("stock,sluice") == ["stock", "sluice"]
