"""What a build shows on a terminal."""

import os
import pty
import subprocess
import sys

from conftest import ROOT

PROGRESS = ROOT / "superbuild/progress.py"
BUILD = """
import sys, time
print("[1/9] Patches and own files", flush=True)
print("download: half", end="\\r", flush=True)
print("download: done", flush=True)
for n in range(1, 2201):
    folder = "plugin/x" if n <= 1200 else "storage/innobase" if n <= 1500 else "sql"
    print(f"[{n}/2200] Building CXX object {folder}/CMakeFiles/f.dir/f{n}.cc.o", flush=n % 100 == 0)
    if n == 1500:
        print("FAILED: f1500.cc.o\\nf1500.cc:1:1: error: a remark", flush=True)
sys.exit(3)
"""


def on_a_terminal(*command):
    master, slave = pty.openpty()
    environment = os.environ | {"COLUMNS": "200"}
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=environment)
    os.close(slave)
    seen = b""
    try:
        while chunk := os.read(master, 65536):
            seen += chunk
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return process.wait(), seen.decode()


def test_share_of_the_work():
    status, seen = on_a_terminal(PROGRESS, sys.executable, "-c", BUILD)
    assert status == 3
    lines = seen.replace("\r\n", "\n").replace("\033[K", "").replace("\r", "\n").split("\n")
    shares = {
        line.split("(f")[1].split(".")[0]: int(line.split(":")[1].split("%")[0])
        for line in lines
        if line.startswith("building:")
    }
    # More than half of the steps, and not a quarter of the work.
    assert 10 < shares["1200"] < 20
    assert 25 < shares["1500"] < 40
    assert shares["2200"] == 100
    assert "Patches and own files" in lines
    assert "download: done" in lines
    at = lines.index("FAILED: f1500.cc.o")
    assert lines[at + 1] == "f1500.cc:1:1: error: a remark"


def test_a_small_build_counts_its_steps():
    script = "print('[3/30] Building CXX object sql/a.cc.o'); print('[30/30] Linking mysqld')"
    status, seen = on_a_terminal(PROGRESS, sys.executable, "-c", script)
    assert status == 0
    assert "10% of the work" in seen
    assert "100% of the work" in seen


def test_without_a_terminal_the_command_runs_as_it_is():
    run = subprocess.run(
        [PROGRESS, sys.executable, "-c", BUILD], capture_output=True, text=True, check=False
    )
    assert run.returncode == 3
    assert "[2200/2200] Building CXX object sql" in run.stdout
    assert "of the work" not in run.stdout
