# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What the machine is, for the report."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import psutil


def describe(work: Path) -> dict[str, str]:
    """Processor, memory, kernel, file system and device below the data directories."""
    return {
        "processor": _first("model name", Path("/proc/cpuinfo").read_text()),
        "cores": str(psutil.cpu_count()),
        "memory": f"{psutil.virtual_memory().total / 2**30:.1f} GiB",
        "virtual": _output("systemd-detect-virt") or "unknown",
        "system": _system(),
        "kernel": platform.release(),
        "file system": _output("findmnt", "-n", "-o", "FSTYPE,OPTIONS", "--target", str(work)),
        "device": _device(work),
        "sysbench": _output("sysbench", "--version"),
        "fio": _output("fio", "--version"),
        "load before the run": " ".join(f"{load:.2f}" for load in psutil.getloadavg()),
    }


def _first(field: str, text: str) -> str:
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return "unknown"


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.system()


def _device(work: Path) -> str:
    source = _output("findmnt", "-n", "-o", "SOURCE", "--target", str(work))
    return _output("lsblk", "-d", "-n", "-o", "NAME,SIZE,ROTA,MODEL", source) or source


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return ""
    return " ".join(done.stdout.split())
