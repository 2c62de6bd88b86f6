"""The control group of make bench SCENARIO=cloud-disk, on a program that reads: as root.

The scenario's own test starts a server, which make test does as an ordinary user only, and
that one may make no control group.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))
from harness.disk_limit import DiskLimit
from harness.errors import BenchError

GROUPS = Path("/sys/fs/cgroup")
READS = 60
READER = f"""
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
block = mmap.mmap(-1, 4096)
sys.stdin.readline()
for i in range({READS}):
    assert os.preadv(file, [block], 4096 * i) == 4096
print("read", flush=True)
sys.stdin.readline()
"""


def may_hold():
    """A container may have no such controller, or may not write to it."""
    enabled = GROUPS / "cgroup.subtree_control"
    return os.geteuid() == 0 and (
        os.access(GROUPS / "blkio" / "blkio.throttle.read_iops_device", os.W_OK)
        or (os.access(enabled, os.W_OK) and "io" in enabled.read_text().split())
    )


def groups():
    return [*GROUPS.glob("sluice-bench-*"), *GROUPS.glob("*/sluice-bench-*")]


@pytest.mark.skipif(not may_hold(), reason="needs root and the cgroup controller blkio or io")
def test_a_process_is_held():
    with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
        file = Path(folder, "file")
        file.write_bytes(os.urandom(4096 * READS))
        with file.open() as opened:
            os.fsync(opened)
        with subprocess.Popen(
            [sys.executable, "-c", READER, file],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as reader:
            limit = None
            try:
                limit = DiskLimit(reader.pid, file.parent, 20)
                (group,) = [group for group in groups() if group.name.endswith(f"-{reader.pid}")]
                assert (group / "cgroup.procs").read_text().split() == [str(reader.pid)]
                begun = time.monotonic()
                print(file=reader.stdin, flush=True)
                assert reader.stdout.readline() == "read\n"
                # Three seconds; a busy machine takes longer.
                assert time.monotonic() - begun > 2
            except BenchError as error:
                if "which is no disk" not in str(error):
                    raise
                pytest.skip(str(error))
            finally:
                reader.kill()
                reader.wait()
                if limit:
                    limit.release()
        assert not group.exists()
