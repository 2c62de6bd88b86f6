# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Where servers run: folders in memory, and the data directories that they begin with."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import threading
from pathlib import Path

import matrix
from load import Load
from power_server import PowerServer, stress

ROOT = stress.ROOT
#: make test runs its servers as another user, which has a folder of its own.
BUILD = Path(os.environ.get("POWERCUT_FOLDER") or ROOT / "build" / "powercut")

#: What recordings, images and data directories may take in memory.
MEMORY = 4 << 30


class Homes:
    """Homes of servers, for one run, whose folder this makes."""

    def __init__(self, run: Path, preset: str) -> None:
        self.run = run
        self.preset = preset
        run.mkdir(parents=True, exist_ok=True)
        memory = Path("/dev/shm")
        if not memory.is_dir() or shutil.disk_usage(memory).free < MEMORY:
            memory = run  # as in a container, which has little
        self.memory = Path(tempfile.mkdtemp(prefix="powercut-", dir=memory))
        self.homes = Path(tempfile.mkdtemp(prefix="homes-", dir=self.memory))
        self._lock = threading.Lock()
        self._count = 0

    def close(self) -> None:
        shutil.rmtree(self.memory, ignore_errors=True)

    def home(self) -> Path:
        """A folder for one server's programs, log and socket."""
        with self._lock:
            self._count += 1
            home = self.homes / str(self._count)
        home.mkdir()
        return home

    # A data directory to begin with

    def base(self, entry: matrix.Entry) -> Path:
        programs = ROOT / "build" / self.preset / "obj" / "runtime_output_directory"
        binary = programs / "mysqld"
        # make run builds the server alone.
        for program in (binary, programs / "innochecksum"):
            if not program.is_file():
                raise SystemExit(
                    f"power cuts: build/{self.preset} has no {program.name}; 'make {self.preset}'"
                    " builds it"
                )
        key = f"{self.preset}-{'-'.join(sorted(entry.setting.tables.values())) or 'tables'}"
        key += "-wide" if entry.setting.wide else ""
        key = re.sub(r"[^A-Za-z0-9=-]+", "_", key) + f"-{int(binary.stat().st_mtime)}"
        base = BUILD / "bases" / key
        base.parent.mkdir(parents=True, exist_ok=True)
        with (base.parent / "lock").open("w") as lock:  # several runs may want it
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not base.is_dir():
                self._make_base(entry, base)
        return base

    def _make_base(self, entry: matrix.Entry, base: Path) -> None:
        files = self.memory / "base"
        files.mkdir()
        home = self.home()
        server = PowerServer(self.preset, home, files, [*matrix.COMMON])
        with contextlib.closing(contextlib.ExitStack()) as stack:
            stack.callback(shutil.rmtree, home, True)
            stack.callback(shutil.rmtree, files, True)
            stack.callback(server.end)
            server.initialize()
            server.start_within(1800)
            with server.connect(None) as connection:
                Load.prepare(connection, entry.setting)
            if server.stop() != 0:
                raise SystemExit("power cuts: a server with new tables does not stop")
            partly = base.with_name(base.name + ".part")
            shutil.rmtree(partly, ignore_errors=True)
            shutil.copytree(files, partly, symlinks=True, ignore=not_a_socket)
            partly.rename(base)


def not_a_socket(folder: str, names: list[str]) -> list[str]:
    return [n for n in names if not (Path(folder, n).is_file() or Path(folder, n).is_dir())]
