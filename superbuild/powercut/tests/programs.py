# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs the rig's programs as a user does, in a folder that goes when all is well."""

import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

from homes import BUILD

HERE = Path(__file__).resolve().parents[1]
PRESET = os.environ.get("PRESET", "debug")


def run(program: str, what: str, *arguments: str) -> None:
    """What has failed is left in its folder, which the output names."""
    name = f"short-{uuid.uuid4().hex[:8]}"
    command = [sys.executable, HERE / program, what, "--preset", PRESET, "--run", name, *arguments]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, f"{BUILD / name}\n{done.stdout[-4000:]}"
    shutil.rmtree(BUILD / name)
