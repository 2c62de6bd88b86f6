# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A server on data that it is given, which gets no longer than it should need."""

from __future__ import annotations

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


class PowerServer(stress.Server):
    """A server on data that it is given, which gets no longer than it should need."""

    def __init__(self, preset: str, home: Path, files: Path, options: list[str]) -> None:
        self.gave_up = False
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
        self.gave_up = False
        timer = threading.Timer(seconds, self._give_up)
        timer.start()
        try:
            return self.start()
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self.gave_up = True
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        if self.running:
            self.kill()
