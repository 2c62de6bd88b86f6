"""A checkout of its own for each test: the scripts, and nothing that was built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "superbuild"))

PATCH = """Subject: feature: one line more

What the patch does and why, in so many words that the check of the header is
content with it, and then a few more of them.

Bug: none
Tests: none
Files: sql/own
Forwarded: no

diff --git a/sql/theirs.cc b/sql/theirs.cc
--- a/sql/theirs.cc
+++ b/sql/theirs.cc
@@ -1 +1,2 @@
 int theirs;
+int ours;
"""
GIT = ("git", "-c", "user.name=t", "-c", "user.email=t@localhost")


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


@pytest.fixture(autouse=True)
def null_device():
    """Root can replace it by a file. What is written to that is input for others."""
    told = "/dev/null is not a device; as root: rm -f /dev/null && mknod -m 666 /dev/null c 1 3"
    if not Path(os.devnull).is_char_device():
        pytest.exit(f"before this test: {told}", returncode=1)
    yield
    assert Path(os.devnull).is_char_device(), f"after this test: {told}"


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path / "checkout")


@pytest.fixture
def series(checkout):
    """A series of one patch with a file of ours, for an upstream of one file."""
    for file in (checkout.path / "patches").glob("*"):
        file.unlink()
    (checkout.path / "patches" / "feature.patch").write_text(PATCH)
    (checkout.path / "patches" / "series").write_text("feature.patch\n")
    own = checkout.path / "sql" / "own"
    own.mkdir(parents=True)
    (own / "a.cc").write_text("int a;\n")
    upstream = checkout.path / "build" / "upstream"
    (upstream / "sql").mkdir(parents=True)
    (upstream / "MYSQL_VERSION").write_text("MYSQL_VERSION_MAJOR=9\n")
    (upstream / "sql" / "theirs.cc").write_text("int theirs;\n")
    upstream.with_name("upstream.stamp").write_text("pin x\ntarball y\n")
    return checkout


def patches(checkout, command):
    return checkout.run("superbuild/patches.py", command, "build/upstream", "build/tree")
