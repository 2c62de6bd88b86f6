#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What ThreadSanitizer says of our files, apart from what it says of upstream's.

    tsan_reports.py FILE ...     output of servers of the preset tsan

InnoDB reads a good many variables without a latch on purpose, so upstream suppresses all reports
with `innobase` in a stack (mysql-test/tsan.supp), and with them would go ours. Instead, a data race
is ours if one of its two accesses is made by a file of ours, in whose own code or in what the
compiler put into it of the standard library; of another report, if any frame is of a file of ours.
Ours are the sources that the headers of patches/ name.

Prints a line for each place, ours in full. The exit status is 1 if there is one of ours.
"""

from __future__ import annotations

import collections
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BEGIN = re.compile(r"WARNING: ThreadSanitizer: (.*?)(?: \(pid=\d+\))?$")
_ACCESS = re.compile(r"^  (?:Previous )?(?:atomic )?(?:write|read) of size", re.IGNORECASE)
_FRAME = re.compile(r"^    #\d+ (?P<function>.*?) (?P<file>\S+?):(?P<line>\d+)(?::\d+)? \(")
_LIBRARY = re.compile(r"/include/c\+\+/|/compiler-rt/|sanitizer")


def own_files() -> set[str]:
    """Names of our server sources, as in a stack: without their folders."""
    found: set[str] = set()
    for patch in (ROOT / "patches").glob("*.patch"):
        header = patch.read_text().partition("\ndiff ")[0]
        named = re.search(r"^Files: (.*)$", header, re.MULTILINE)
        for path in named.group(1).split(", ") if named else []:
            place = ROOT / path
            files = place.rglob("*") if place.is_dir() else [place]
            found |= {file.name for file in files if file.suffix in (".cc", ".h", ".ic")}
    return found


def reports(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Kind and lines of each report."""
    kind, report = "", []
    for line in lines:
        begin = _BEGIN.search(line)
        if begin:
            kind, report = begin.group(1), []
        elif line.startswith("=====") and kind:
            yield kind, report
            kind = ""
        if kind:
            report.append(line.rstrip())


def stacks(report: Iterable[str]) -> Iterator[tuple[bool, list[tuple[str, str, str]]]]:
    """For each stack of a report: is it that of an access; its frames."""
    access, frames = False, []
    for line in report:
        frame = _FRAME.match(line)
        if frame:
            frames.append((frame["function"], frame["file"], frame["line"]))
        else:
            if frames:
                yield access, frames
            if line.strip():
                access, frames = bool(_ACCESS.match(line)), []
    if frames:
        yield access, frames


def place(report: list[str], kind: str, own: set[str]) -> tuple[str, bool]:
    """Where it is, and if that is ours."""
    where, ours = [], False
    for access, frames in stacks(report):
        code = [frame for frame in frames if not _LIBRARY.search(frame[1])] or frames
        if kind == "data race":
            if not access:
                continue
            ours = ours or Path(code[0][1]).name in own
        else:
            ours = ours or any(Path(frame[1]).name in own for frame in frames)
        function, file, line = code[0]
        where.append(f"{function.partition('(')[0]} {Path(file).name}:{line}")
    return f"{kind}: " + " | ".join(where[:2]), ours


def main(files: list[str]) -> int:
    own = own_files()
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    first: dict[str, list[str]] = {}
    for name in files:
        with Path(name).open(errors="replace") as lines:
            for kind, report in reports(lines):
                key = place(report, kind, own)
                counts[key] += 1
                first.setdefault(key[0], report)
    upstream = {where: number for (where, ours), number in counts.items() if not ours}
    mine = {where: number for (where, ours), number in counts.items() if ours}
    for where, number in sorted(mine.items()):
        print(f"ours, {number} times: {where}")
        print("\n".join(first[where]))
    print(
        f"tsan: {sum(mine.values())} reports of our files, {sum(upstream.values())}"
        f" of upstream's in {len(upstream)} places"
    )
    return 1 if mine else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
