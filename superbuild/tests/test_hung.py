import shutil
import subprocess
import sys
import time

import hung
import pytest
import results
from conftest import ROOT

THREADS = """
Thread 3 (Thread 0x7f (LWP 3) "connection"):
#0  0x00007f in __futex_abstimed_wait_common64 () from libc.so.6
#1  0x00007f in pthread_cond_timedwait () from libc.so.6
#2  0x000055 in Lru_flusher::queue_up (this=0x1, end=...) at buf0lruwait.cc:157
#3  0x000055 in buf_LRU_get_free_block (buf_pool=0x2) at buf0lru.cc:1394

Thread 2 (Thread 0x7f (LWP 2) "connection"):
#0  0x00007f in __futex_abstimed_wait_common64 () from libc.so.6
#1  Lru_flusher::queue_up (this=0x1, end=...) at buf0lruwait.cc:157
#2  0x000055 in buf_LRU_get_free_block (buf_pool=0x2) at buf0lru.cc:1394

Thread 1 (Thread 0x7f (LWP 1) "mysqld"):
#0  0x00007f in poll () from libc.so.6
#1  0x000055 in Mysqld_socket_listener::listen_for_connection_event (this=0x1) at s.cc:1
"""


def test_threads_that_stand_in_the_same_place_are_one_line():
    assert hung.groups(THREADS) == [
        (2, ("Lru_flusher::queue_up", "buf_LRU_get_free_block")),
        (1, ("poll", "Mysqld_socket_listener::listen_for_connection_event")),
    ]


def test_only_servers_of_a_test_that_hangs():
    of = "--defaults-file=/var/{}/my.cnf"
    assert hung.hung(
        [
            (1, hung.HUNG_SECONDS, "mysqltest", of.format(1)),
            (2, 9000, "mysqld", of.format(1)),
            (3, hung.HUNG_SECONDS - 1, "mysqltest", of.format(2)),
            (4, 9000, "mysqld", of.format(2)),
            (5, 9000, "mysqld", "--no-defaults"),
        ]
    ) == [2]


def test_only_processes_of_this_run(tmp_path):
    option = f"--defaults-file={tmp_path}/var2/my.cnf"
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", option])
    try:
        assert [pid for pid, *_ in hung.processes(tmp_path / "var2")] == [process.pid]
        assert hung.processes(tmp_path / "var") == []
    finally:
        process.kill()
        process.wait()


@pytest.mark.skipif(not shutil.which("gdb"), reason="no gdb")
def test_a_process_is_looked_at_and_goes_on(tmp_path):
    process = subprocess.Popen(["sleep", "600"])
    try:
        time.sleep(0.2)
        hung.look(process.pid, tmp_path)
        assert process.poll() is None
        report = tmp_path / "own.xml"
        assert next(iter(results.hung([report, report])))[0] == f"hung-{process.pid}"
    finally:
        process.kill()
        process.wait()


WATCH = f"""
import sys, time
sys.path.insert(0, {str(ROOT / "superbuild")!r})
import hung
hung.LOOK_SECONDS = 0.1
hung.shutil.which = lambda _: "gdb"
if sys.argv[3] == "late":
    time.sleep(2)
hung.main(sys.argv[1], sys.argv[1], sys.argv[2])
"""


@pytest.mark.parametrize("start", ["at once", "late"])
def test_it_ends_with_the_run_that_began_it(tmp_path, start):
    # The shell begins it and ends; what it has as its output is open until it ends, too.
    shell = ["sh", "-c", 'python3 -c "$0" "$1" $$ "$2" & sleep 1; kill -0 $! && echo began']
    said = subprocess.run(
        [*shell, WATCH, tmp_path, start], capture_output=True, text=True, timeout=300, check=True
    )
    assert (said.stdout, said.stderr) == ("began\n", "")
