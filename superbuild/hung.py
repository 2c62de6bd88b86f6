#!/usr/bin/env python3
"""Beside a run of mysql-test-run: says where the threads of a server stand whose test hangs.

  hung.py VARDIR FOLDER PARENT

When a test has run for ten minutes (mtr.sh gives it twenty-five, and then kills the
server, which says nothing), gdb looks at each thread of its servers. FOLDER/hung-PID.txt
gets a line for each group of threads that stand in the same place, FOLDER/hung-PID.full
all that gdb has said. results.py shows the first. Ends when it is terminated, or when
process PARENT, which began it, has ended.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

# Longer than any test of make test takes on a busy machine.
HUNG_SECONDS = 600
LOOK_SECONDS = 15
# gdb reads 2 GB of symbols, and the server stands still meanwhile.
GDB_SECONDS = 240
FRAMES = 9
CONFIG = re.compile(r"--defaults-file=(\S+)")
FRAME = re.compile(r"^#\d+\s+(?:0x[0-9a-f]+ in )?([^(\s]+(?:<[^(]*>)?(?:::[^(\s]+)*)")
# What any thread that waits stands in; it says nothing.
WAITING = re.compile(
    r"^(__|\?\?|pthread_|futex|syscall|clock_nanosleep|nanosleep|native_cond|my_cond|safe_cond|"
    r"inline_mysql_cond|std::|os_event::|os_event_wait|PolicyMutex|TTASEventMutex|start_thread)"
)
# Where a server that serves nobody stands, too.
IDLE = re.compile(
    r"^(ppoll|poll|accept|sigwait|io_getevents|epoll|LinuxAIOHandler::(collect|poll)|"
    r"Per_thread_connection_handler::block|vio_io_wait|pfs_spawn|run_timer)"
)


def hung(processes):
    """Process ids of the servers of tests that hang, of (pid, seconds, name, arguments)."""
    configs = {
        found[1]
        for _, seconds, name, arguments in processes
        if name == "mysqltest" and seconds >= HUNG_SECONDS and (found := CONFIG.search(arguments))
    }
    return [
        pid
        for pid, _, name, arguments in processes
        if name == "mysqld" and (found := CONFIG.search(arguments)) and found[1] in configs
    ]


def processes(vardir):
    listing = subprocess.run(
        ["ps", "-ww", "-eo", "pid=,etimes=,comm=,args="], capture_output=True, text=True, check=True
    ).stdout
    # With the slash: another run may have a folder whose name begins with this one's.
    of = f"--defaults-file={vardir}/"
    rows = (line.split(maxsplit=3) for line in listing.splitlines() if of in line)
    return [(int(row[0]), int(row[1]), row[2], row[3]) for row in rows if len(row) == 4]


def groups(said):
    """Threads that stand in the same place, [(number, functions)], those that say most first."""
    counted = {}
    for thread in re.split(r"^Thread \d+ ", said, flags=re.MULTILINE)[1:]:
        names = [found[1] for line in thread.splitlines() if (found := FRAME.match(line))]
        names = [name for name in names if not WAITING.match(name)][:FRAMES]
        if names:
            counted[tuple(names)] = counted.get(tuple(names), 0) + 1
    return sorted(
        ((number, names) for names, number in counted.items()),
        key=lambda group: (bool(IDLE.match(group[1][0])), -len(group[1])),
    )


def look(pid, folder):
    said = subprocess.run(
        ["gdb", "-batch", "-nx", "-ex", "thread apply all bt 40", "-p", str(pid)],
        capture_output=True,
        text=True,
        timeout=GDB_SECONDS,
        check=False,
    )
    folder = Path(folder)
    (folder / f"hung-{pid}.full").write_text(said.stdout + said.stderr)
    lines = [f"{number} x {' < '.join(names)}" for number, names in groups(said.stdout)]
    (folder / f"hung-{pid}.txt").write_text("\n".join(lines or said.stderr.splitlines()) + "\n")


def main(vardir, folder, parent):
    if not shutil.which("gdb"):
        print("hung: without gdb nothing will be said of a test that hangs", file=sys.stderr)
        return
    seen = set()
    # Not asked of the system: the parent may have ended before this process came to run.
    while os.getppid() == int(parent):
        for pid in hung(processes(vardir)):
            if pid not in seen:
                seen.add(pid)
                try:
                    look(pid, folder)
                except (OSError, subprocess.TimeoutExpired) as error:
                    print(f"hung: {error}", file=sys.stderr)
        time.sleep(LOOK_SECONDS)


if __name__ == "__main__":
    main(*sys.argv[1:])
