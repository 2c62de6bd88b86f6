# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""TPC-H tables as Parquet files, made by tpchgen-cli (pinned in bench/requirements.txt)."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from ssb.scale import Scale

TABLES = ("customer", "supplier", "part", "partsupp", "orders", "lineitem", "nation", "region")


def generator() -> str:
    """Name and version, for the manifest: the data depends on it."""
    return f"tpchgen-cli {version('tpchgen-cli')}"


def generate(scale: Scale, directory: Path) -> None:
    """Writes <table>.parquet for every table. At SF 1 that is 0.3 GB."""
    # The program is beside the interpreter of the virtual environment it belongs to.
    program = Path(sys.executable).with_name("tpchgen-cli")
    command = [str(program), "parquet", "--quiet", f"--scale-factor={scale}",
               f"--output-dir={directory}", f"--tables={','.join(TABLES)}"]  # fmt: skip
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(
            f"{program} is missing: install bench/requirements.txt into this environment"
        ) from None
    except subprocess.CalledProcessError as error:
        raise RuntimeError(f"tpchgen-cli failed: {error.stderr.strip()}") from error
    missing = [table for table in TABLES if not (directory / f"{table}.parquet").exists()]
    if missing:
        raise RuntimeError(f"tpchgen-cli wrote no {', '.join(missing)} to {directory}")
