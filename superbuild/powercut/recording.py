# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A file system that records, for as long as a program is to be recorded."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
UNMOUNT = ["umount"] if os.geteuid() == 0 else ["fusermount3", "-u"]
RECORDER = ROOT / "build" / "powercut" / "recorder"
CANNOT_MOUNT = 77  #: its exit status then


class CannotMount(SystemExit):
    """This machine, or this user; not a recorder that is missing or crashes."""


class Recording:
    """Serves a copy of base at mount; what happens there goes to log.

    The copy is in store, which is best a tmpfs: nothing there has to survive.
    """

    def __init__(self, base: Path, home: Path, *, seed: int = 1, sync_delay: int = 400) -> None:
        self.base = base
        self.mount = home / "mount"
        self.store = home / "store"
        self.log = home / "log"
        self._seed = seed
        self._sync_delay = sync_delay
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        if not RECORDER.is_file():
            raise SystemExit("power cuts: there is no recorder; 'make build/powercut/recorder'")
        self.mount.mkdir(parents=True)
        self.store.mkdir()
        device = os.stat(self.mount).st_dev
        self._process = subprocess.Popen(
            [
                RECORDER,
                f"--seed={self._seed}",
                f"--sync-delay={self._sync_delay}",
                self.base,
                self.store,
                self.log,
                self.mount,
            ]
        )
        while os.stat(self.mount).st_dev == device:
            if (status := self._process.poll()) is not None:
                error = CannotMount if status == CANNOT_MOUNT else SystemExit
                raise error(f"power cuts: the recorder has ended with status {status}")
            time.sleep(0.02)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        for _ in range(100):
            unmounted = subprocess.run(
                [*UNMOUNT, self.mount], stderr=subprocess.DEVNULL, check=False
            )
            if unmounted.returncode == 0:
                break
            time.sleep(0.1)
        else:
            subprocess.run(
                [*UNMOUNT, "-l" if UNMOUNT[0] == "umount" else "-z", self.mount], check=False
            )
            self._process.terminate()
        self._process.wait()
        shutil.rmtree(self.store)

    def mark(self, text: str) -> None:
        """Puts a line into the log, after all that was replied to before."""
        fd = os.open(self.mount / ".mark", os.O_WRONLY)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)
