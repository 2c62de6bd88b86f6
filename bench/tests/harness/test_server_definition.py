# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The files of servers/."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import server_definition
from harness.errors import BenchError

_BASE = """
title = "one"
mysqld = "somewhere/mysqld"
basedir = "somewhere"
messages = "somewhere/share"
version = "9."
[options]
a = "a={value}"
b = "b={value}"
"""


@pytest.fixture
def servers(tmp_path: Path) -> Path:
    (tmp_path / "one.toml").write_text(_BASE)
    return tmp_path


def test_the_same_binary_with_other_switches(servers: Path) -> None:
    text = (
        'like = "one"\ntitle = "two"\nswitches = ["feature=OFF"]\n[options]\nb = "other={value}"\n'
    )
    (servers / "two.toml").write_text(text)
    one, two = (server_definition.load(name, servers) for name in ("one", "two"))
    assert two.mysqld == one.mysqld
    assert (two.name, two.title) == ("two", "two")
    assert two.switches == ("feature=OFF",)
    assert one.switches == ()
    assert two.options == {"a": "a={value}", "b": "other={value}"}


def test_a_name_with_dots(servers: Path) -> None:
    (servers / "5.5.34.toml").write_text(_BASE)
    assert server_definition.load("5.5.34", servers).name == "5.5.34"


def test_errors_name_the_file(servers: Path) -> None:
    with pytest.raises(BenchError, match=r"no server file .*three.toml; servers known: one"):
        server_definition.load("three", servers)
    (servers / "typo.toml").write_text(_BASE.replace("mysqld", "mysqlt"))
    with pytest.raises(BenchError, match=r"typo.toml: unknown key 'mysqlt'"):
        server_definition.load("typo", servers)
    (servers / "less.toml").write_text('title = "x"\n')
    with pytest.raises(BenchError, match=r"less.toml: 'mysqld' is missing"):
        server_definition.load("less", servers)
    (servers / "broken.toml").write_text("title = \n")
    with pytest.raises(BenchError, match=r"broken.toml"):
        server_definition.load("broken", servers)


def test_why_a_setting_is_lacking(servers: Path) -> None:
    text = _BASE + '[lacks]\nc = "no c"\n"gtid=on" = "no gtid"\n'
    (servers / "old.toml").write_text(text)
    old = server_definition.load("old", servers)
    assert old.lacking("c", 1) == "no c"
    assert old.lacking("gtid", "on") == "no gtid"
    assert old.lacking("gtid", "off") is None
