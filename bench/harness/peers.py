# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Fetches servers that are not built here, by name, through mvn and apt."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import zipfile
from pathlib import Path

from harness.errors import BenchError
from harness.server_definition import ServerDefinition

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
#: Of an archive of Oracle's only what a server needs to run.
_WANTED = ("bin/mysqld", "share/", "lib/plugin/", "COPYING", "README")


def provide(server: ServerDefinition, peers: Path) -> None:
    """peers/<name>, whole or not at all. Nothing to do for a server that is there."""
    if server.archive is None or server.mysqld.is_file():
        return
    partial = peers / f"{server.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    print(f"bench: fetching {server.name}", flush=True)
    if server.archive.maven is not None:
        _from_maven(server, server.archive.maven, partial)
    else:
        _from_debian(server, partial)
    final = peers / server.name
    shutil.rmtree(final, ignore_errors=True)
    partial.rename(final)


def _from_maven(server: ServerDefinition, coordinates: str, into: Path) -> None:
    if not shutil.which("mvn"):
        raise BenchError(f"{server.name} comes by maven, which is missing: apt-get install maven")
    download = into / "download"
    command = [
        "mvn",
        "-q",
        "-B",
        _COPY,
        f"-Dartifact={coordinates}",
        f"-DoutputDirectory={download}",
    ]
    _run(server, command, into)
    (archive,) = download.iterdir()
    with archive.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    assert server.archive is not None
    if found != server.archive.sha256:
        raise BenchError(
            f"{coordinates} has the SHA-256 {found}; servers/{server.name}.toml expects "
            f"{server.archive.sha256}"
        )
    with zipfile.ZipFile(archive) as content:
        for name in content.namelist():
            if name.startswith(_WANTED):
                content.extract(name, into)
    (into / "bin" / "mysqld").chmod(0o755)
    shutil.rmtree(download)


def _from_debian(server: ServerDefinition, into: Path) -> None:
    """apt-get download checks the packages; dpkg-deb unpacks them and runs none of their scripts."""
    assert server.archive is not None
    if not shutil.which("apt-get"):
        raise BenchError(f"{server.name} comes as Debian packages, and there is no apt-get here")
    _run(server, ["apt-get", "download", *server.archive.debian], into)
    for package in sorted(into.glob("*.deb")):
        _run(server, ["dpkg-deb", "--extract", str(package), str(into)], into)
        package.unlink()


def _run(server: ServerDefinition, command: list[str], directory: Path) -> None:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        said = "\n".join(f"  {line}" for line in (done.stdout + done.stderr).splitlines()[-8:])
        raise BenchError(f"{server.name} could not be fetched: {' '.join(command)}\n{said}")
