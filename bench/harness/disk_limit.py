# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Holds a process to so many reads and so many writes a second, as rented disks do (root)."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from harness.errors import BenchError

_V1 = Path("/sys/fs/cgroup/blkio")
_V2 = Path("/sys/fs/cgroup")


class DiskLimit:
    """A control group of one process, on the device below a directory. Both versions of cgroups."""

    def __init__(self, pid: int, below: Path, ops: int) -> None:
        device = _device(below)
        if (_V1 / "blkio.throttle.read_iops_device").exists():
            self._group = _V1 / f"sluice-bench-{pid}"
            limits = {
                f"blkio.throttle.{kind}_iops_device": f"{device} {ops}"
                for kind in ("read", "write")
            }
        elif "io" in _words(_V2 / "cgroup.controllers"):
            self._group = _V2 / f"sluice-bench-{pid}"
            limits = {"io.max": f"{device} riops={ops} wiops={ops}"}
        else:
            raise BenchError("a disk can be held only with the cgroup controller blkio or io")
        try:
            self._group.mkdir(exist_ok=True)
            for file, line in limits.items():
                (self._group / file).write_text(line)
            (self._group / "cgroup.procs").write_text(str(pid))
        except OSError as error:
            self.release()
            raise BenchError(f"the disk cannot be held to {ops} operations: {error}") from error

    def release(self) -> None:
        """After the end of the process; a group that something is left in stays."""
        if self._group.is_dir():
            try:
                self._group.rmdir()
            except OSError:
                pass


def _words(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def _device(below: Path) -> str:
    """major:minor of the whole disk that the directory is on."""
    number = os.stat(below).st_dev
    node = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    if (node / "partition").exists():
        node = node.parent
    try:
        return (node / "dev").read_text().strip()
    except OSError as error:
        found = subprocess.run(
            ["findmnt", "-n", "-o", "SOURCE,FSTYPE", "--target", str(below)],
            capture_output=True,
            text=True,
            check=False,
        ).stdout.strip()
        raise BenchError(f"{below} is on {found}, which is no disk that can be held") from error
