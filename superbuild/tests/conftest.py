"""A checkout of its own for each test: the scripts, and nothing that was built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "superbuild"))


class Checkout:
    def __init__(self, path):
        self.path = path
        self.programs = path / "stand-ins"
        self.programs.mkdir(parents=True)
        for name in ("superbuild", "demo", "config", "upstream", "patches"):
            shutil.copytree(ROOT / name, path / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("Makefile", "CMakeLists.txt", "CMakePresets.json"):
            shutil.copy(ROOT / name, path)

    def stand_in(self, program, script):
        """What runs in place of a program of the system."""
        file = self.programs / program
        file.write_text(f"#!/bin/bash\n{script}\n")
        file.chmod(0o755)

    def start(self, *command, **variables):
        # Not those of the make that runs the tests.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
        for name in ("UPSTREAM_TARBALL", "UPSTREAM_SHA256", "UPSTREAM_PIN", "PRESET"):
            inherited.pop(name, None)
        path = f"{self.programs}:{inherited['PATH']}"
        return subprocess.Popen(
            command,
            cwd=self.path,
            env=inherited | {"PATH": path} | variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *command, **variables):
        """Exit status and what was said."""
        process = self.start(*command, **variables)
        try:
            output, _ = process.communicate(timeout=1800)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return process.returncode, output


def pretend_to_have_built(checkout, *presets):
    """What test.sh looks for; mysqld is an empty file."""
    (checkout.path / "bench").mkdir()
    (checkout.path / "bench" / "pytest.ini").touch()  # as-user.sh --check reads it
    for preset in presets:
        objects = checkout.path / "build" / preset / "obj"
        for folder in ("mysql-test", "runtime_output_directory", "plugin_output_directory"):
            (objects / folder).mkdir(parents=True)
        server = objects / "runtime_output_directory" / "mysqld"
        server.touch()
        server.chmod(0o755)


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path / "checkout")
