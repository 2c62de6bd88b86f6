# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The server that is built, for the tests that need a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness import places

_PRESETS = ("release", "debug")  # what users run; else what make test has built


@pytest.fixture(scope="session")
def built_server() -> Path:
    """The build directory of a server (its obj)."""
    for preset in _PRESETS:
        objects = places.ROOT / "build" / preset / "obj"
        if (objects / "runtime_output_directory" / "mysqld").is_file():
            return objects
    pytest.skip("no server is built: make release or make debug builds one")


@pytest.fixture
def server_file(built_server: Path, tmp_path: Path) -> Path:
    """A file as in servers/, for that server."""
    path = tmp_path / "built.toml"
    path.write_text(server_text(built_server))
    return path


def server_text(objects: Path) -> str:
    return (
        'title = "built"\n'
        f'mysqld = "{objects}/runtime_output_directory/mysqld"\n'
        f'basedir = "{objects}"\n'
        f'messages = "{objects}/share"\n'
        f'plugins = "{objects}/plugin_output_directory"\n'
        'version = "9."\n'
    )
