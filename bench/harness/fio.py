# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the disk below a directory can do, by fio: random pages past the page cache."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.errors import BenchError

PAGE = 16 * 1024  #: bytes of an InnoDB page; fio's block size


@dataclass(frozen=True)
class Disk:
    reads: float  #: pages a second
    writes: float  #: pages a second
    command: str


def measure(directory: Path, size: int, seconds: int, depth: int, write_percent: int) -> Disk:
    """O_DIRECT, libaio, so many I/Os under way, in a file that is made and removed."""
    file = directory / "fio.data"
    command = [
        "fio",
        "--name=pages",
        f"--filename={file}",
        f"--size={size}",
        f"--bs={PAGE}",
        "--direct=1",
        "--ioengine=libaio",
        f"--iodepth={depth}",
        "--rw=randrw" if write_percent else "--rw=randread",
        f"--rwmixread={100 - write_percent}",
        "--time_based",
        f"--runtime={seconds}",
        "--output-format=json",
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise BenchError(f"fio failed: {' '.join(command)}\n{done.stdout[-500:]}{done.stderr}")
        # Lines before the JSON document are remarks.
        job = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]
    finally:
        file.unlink(missing_ok=True)
    shown = " ".join(word for word in command if not word.startswith("--filename"))
    return Disk(job["read"]["iops"], job["write"]["iops"], shown)
