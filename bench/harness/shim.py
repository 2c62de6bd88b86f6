# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Compiles the LD_PRELOAD shims of bench/shim when they are needed."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness import places
from harness.errors import BenchError


def build(name: str, work: Path) -> Path:
    """The shared library of shim/<name>.c, made again if the source is newer."""
    source = places.SHIMS / f"{name}.c"
    library = work / "shim" / f"{name}.so"
    if library.exists() and library.stat().st_mtime > source.stat().st_mtime:
        return library
    library.parent.mkdir(parents=True, exist_ok=True)
    partial = library.with_suffix(".partial")
    command = ["cc", "-shared", "-fPIC", "-O2", "-o", str(partial), str(source), "-ldl"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise BenchError("cc is missing: apt-get install gcc") from error
    if done.returncode:
        raise BenchError(f"{source} does not compile:\n{done.stderr}")
    partial.rename(library)
    return library
