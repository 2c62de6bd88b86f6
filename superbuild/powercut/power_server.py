# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A server on data that it is given, which gets no longer than it should need."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from pathlib import Path

SUPERBUILD = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(SUPERBUILD), str(SUPERBUILD / "stress")]

import keyring
import server as stress

COPYING = threading.Lock()

#: A server that starts uses, or waits for, more of a processor.
IDLE = 0.05


class Wanted:
    """What a process has had of processors, and what its threads were ready for while others had it."""

    def __init__(self, process: Path) -> None:
        self._process = process
        self._used = self._processor_seconds()
        self._waited = self._waits()

    def seconds(self) -> float:
        """Since then."""
        waits = sum(w - self._waited.get(thread, 0.0) for thread, w in self._waits().items())
        return self._processor_seconds() - self._used + waits

    def _processor_seconds(self) -> float:
        try:
            told = (self._process / "stat").read_text()
        except OSError:  # it has ended
            return 0.0
        user, system = told.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _waits(self) -> dict[str, float]:
        """By thread; without those that have ended."""
        waits = {}
        for file in self._process.glob("task/*/schedstat"):
            with contextlib.suppress(OSError):
                waits[file.parent.name] = int(file.read_text().split()[1]) / 1e9
        return waits


class PowerServer(stress.Server):
    """A server on data that it is given, which gets no longer than it should need."""

    def __init__(self, preset: str, home: Path, files: Path, options: list[str]) -> None:
        self.gave_up = False  #: was its last start killed?
        self.was_idle = False  #: and had it hung?
        self.is_stock = preset.startswith("stock")
        self.objects = stress.ROOT / "build" / preset / "obj"
        super().__init__(preset, home, options)
        self.data = files / "data"
        self._command = [
            f"--datadir={self.data}" if word.startswith("--datadir=") else word
            for word in self._command
        ]
        if self.can_encrypt:
            keyring.configure(home / "plugins", keyring.kept_in(files / "keyring"))

    def _provide(self, binary: Path) -> None:
        """A link, or one to a copy: a user may link only to files of its own."""
        with COPYING:
            try:
                os.link(binary, self.binary)
            except OSError:
                copy = self.home.parent / "mysqld"
                if not copy.exists():
                    shutil.copy2(binary, copy)
                os.link(copy, self.binary)

    def start_within(self, seconds: float) -> float:
        self.gave_up = self.was_idle = False
        over = threading.Event()
        limit = threading.Thread(target=self._give_up, args=(seconds, over), daemon=True)
        limit.start()
        try:
            return self.start(float("inf"))  # it is killed
        finally:
            over.set()
            limit.join()

    def _give_up(self, seconds: float, over: threading.Event) -> None:
        if over.wait(seconds / 2):
            return
        wanted = Wanted(Path("/proc", str(self.process_id)))
        if over.wait(seconds / 2):
            return
        self.was_idle = wanted.seconds() < IDLE * seconds / 2
        self.gave_up = True
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        if self.running:
            self.kill()
