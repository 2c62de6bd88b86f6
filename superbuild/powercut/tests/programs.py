# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs the rig's programs as a user does, in a folder that goes when all is well."""

import csv
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

from homes import BUILD

HERE = Path(__file__).resolve().parents[1]
PRESET = os.environ.get("PRESET", "debug")


def run(program: str, what: str, *arguments: str) -> list[dict[str, str]]:
    """The rows of its table. What has failed is left in its folder, which the output names."""
    name = f"short-{uuid.uuid4().hex[:8]}"
    command = [sys.executable, HERE / program, what, "--preset", PRESET, "--run", name, *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{BUILD / name}\n{done.stdout[-4000:]}"
    table = BUILD / name / ("mutants.csv" if what == "mutants" else "rounds.csv")
    with table.open(newline="") as opened:
        rows = list(csv.DictReader(opened))
    shutil.rmtree(BUILD / name)
    return rows
