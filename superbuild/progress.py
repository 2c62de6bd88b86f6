#!/usr/bin/env python3
"""Runs a build and says how much of the work is done, and how long the rest takes.

  progress.py cmake --build --preset release

Ninja counts steps, and many cheap ones come first. Here a step counts as what files of its
folder took to compile. Only on a terminal; otherwise the command runs as it is. What is not a
step (an error, a download) is shown as it comes.
"""

import os
import re
import shutil
import subprocess
import sys
import time

#: Seconds a file takes, by folder, and those of a whole build: from the log of a cold debug build
#: (docs/design/build-times.md). For another preset or machine they are as good: shares count.
SECONDS = (
    (r"sql/server_component/", 1.7),
    (r"sql/", 3.2),
    (r"storage/(innobase|perfschema|temptable)/", 2.3),
    (r"", 0.46),
)
WHOLE = 3900
WHOLE_STEPS = 2000  #: a build with as many steps is a whole one, or nearly
STEP = re.compile(rb"\[(\d+)/(\d+)\] (.*)")


class Progress:
    def __init__(self, now):
        self.done = 0.0
        self.total = 0
        self.began = now

    def step(self, number, total, what, now):
        """A line to show."""
        if total < 20:  # ours: upstream, patches, server
            return what
        if total != self.total:
            self.total, self.done, self.began = total, 0.0, now
        self.done += next(
            cost for folder, cost in SECONDS if re.search(rf" {folder}", f" {source(what)}")
        )
        share = self.done / WHOLE if total >= WHOLE_STEPS else number / total
        share = min(share, 0.99) if number < total else 1.0
        text = f"building: {share:4.0%} of the work"
        spent = now - self.began
        if share > 0.02 and spent > 10 and share < 1:
            text += f", {time_left(spent * (1 - share) / share)} left"
        return f"{text} ({what.rsplit('/', 1)[-1]})"


def source(what):
    """The file that 'Building CXX object sql/CMakeFiles/x.dir/y.cc.o' is about."""
    return what.rsplit(" ", 1)[-1]


def time_left(seconds):
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} seconds"


def show(command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    progress, rest, is_shown = Progress(time.monotonic()), b"", False
    out = sys.stdout.buffer
    while chunk := os.read(process.stdout.fileno(), 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        if rest and not rest.startswith(b"["):
            lines, rest, end = [*lines, rest], b"", b""
        else:
            end = b"\n"
        for number, line in enumerate(lines):
            is_last = number == len(lines) - 1
            found = STEP.fullmatch(line.rstrip(b"\r"))
            out.write(b"\r\033[K" if is_shown else b"")
            is_shown = bool(found)
            if found:
                text = progress.step(
                    int(found[1]),
                    int(found[2]),
                    found[3].decode(errors="replace"),
                    time.monotonic(),
                )
                out.write(text[: shutil.get_terminal_size().columns - 1].encode())
            else:
                out.write(line + (end if is_last else b"\n"))
        out.flush()
    out.write((b"\r\033[K" if is_shown else b"") + rest)
    out.flush()
    return process.wait()


def main():
    command = sys.argv[1:]
    if not sys.stdout.isatty():
        os.execvp(command[0], command)
    try:
        sys.exit(show(command))
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
