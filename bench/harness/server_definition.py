# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The files in servers/: where a server's binary is and what it calls its options."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness import places
from harness.errors import BenchError
from harness.settings import Template


@dataclass(frozen=True)
class Archive:
    """A server that is fetched: a Maven artifact, or Debian packages that are only unpacked."""

    maven: str | None = None  #: group:artifact:version:type:classifier
    sha256: str | None = None  #: of the Maven artifact
    debian: tuple[str, ...] = ()  #: packages, of the version that apt offers


@dataclass(frozen=True)
class ServerDefinition:
    """One file of servers/. Paths are relative to the checkout."""

    name: str  #: the file's name without .toml
    title: str  #: what reports call it
    mysqld: Path
    basedir: Path
    messages: Path  #: lc_messages_dir
    version: str  #: what @@version begins with, checked at the start
    plugins: Path | None = None  #: plugin_dir
    build: str | None = None  #: the command that makes the binary
    archive: Archive | None = None
    bootstrap: tuple[Path, ...] = ()  #: SQL for mysqld --bootstrap; none: --initialize-insecure
    bootstrap_first: str = ""  #: SQL before those files
    #: Starts on the data directory of that server as it is, and the other way round: its own are
    #: copies, made when filled, and with bursts they change hands.
    data_of: str | None = None
    #: The files of its redo log must have the size that it is told: none are left by the making.
    fixed_redo_log: bool = False
    libraries: tuple[Path, ...] = ()  #: directories for LD_LIBRARY_PATH
    preload: tuple[str, ...] = ()  #: libraries for LD_PRELOAD (an allocator)
    switches: tuple[str, ...] = ()  #: options of this server alone, given last
    setup: tuple[str, ...] = ()  #: SQL after each start
    options: Mapping[str, Template] = field(default_factory=dict)  #: templates that differ
    #: Settings ("name", or "name=value") that it cannot be told: why.
    lacks: Mapping[str, str] = field(default_factory=dict)

    def lacking(self, setting: str, value: object) -> str | None:
        """Why it cannot be told this, or None if it can."""
        return self.lacks.get(f"{setting}={value}", self.lacks.get(setting))


def load(wanted: str, servers: Path = places.SERVERS) -> ServerDefinition:
    """By name, from servers/, or from a file named by its path from the checkout's root."""
    path = places.ROOT / wanted if wanted.endswith(".toml") else servers / f"{wanted}.toml"
    content = _read(path, servers)
    archive = content.pop("archive", None)
    known = set(ServerDefinition.__dataclass_fields__) - {"name"}
    for key in content:
        if key not in known:
            raise BenchError(f"{path}: unknown key {key!r}; known: {', '.join(sorted(known))}")
    for key in ("title", "mysqld", "basedir", "messages", "version"):
        if key not in content:
            raise BenchError(f"{path}: {key!r} is missing")
    for key in ("mysqld", "basedir", "messages", "plugins"):
        if key in content:
            content[key] = places.ROOT / content[key]
    for key in ("bootstrap", "libraries"):
        content[key] = tuple(places.ROOT / entry for entry in content.get(key, ()))
    for key in ("preload", "switches", "setup"):
        content[key] = tuple(content.get(key, ()))
    if archive is not None:
        content["archive"] = Archive(
            maven=archive.get("maven"),
            sha256=archive.get("sha256"),
            debian=tuple(archive.get("debian", ())),
        )
    return ServerDefinition(name=path.stem, **content)


def _read(path: Path, servers: Path) -> dict[str, Any]:
    """The file's content over that of the server it is based on (like = "name")."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except FileNotFoundError as error:
        known = ", ".join(sorted(entry.stem for entry in servers.glob("*.toml")))
        raise BenchError(f"there is no server file {path}; servers known: {known}") from error
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise BenchError(f"{path}: {error}") from error
    like = content.pop("like", None)
    if like is None:
        return content
    base = _read(servers / f"{like}.toml", servers)
    for key in ("options", "lacks"):
        content[key] = base.get(key, {}) | content.get(key, {})
    return base | content
