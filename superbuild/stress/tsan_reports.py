#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What ThreadSanitizer says of our files, apart from what it says of upstream's.

    tsan_reports.py OBJECTS FILE ...    build/tsan/obj, and what its servers have written

InnoDB reads a good many variables without a latch on purpose, so upstream suppresses all reports
with `innobase` in a stack (mysql-test/tsan.supp), and with them would go ours. Instead, a data race
is ours if one of its two accesses is made by a line of ours, in whose own code or in what the
compiler put into it of the standard library, and is not one of _ON_PURPOSE; of another report, if
any frame is of a file of ours. Ours are the sources that the headers of patches/ name, and the
lines that patches add to upstream's.

The server writes addresses, which is faster by far; llvm-symbolizer tells their lines here.
Prints a line for each place, ours in full. The exit status is 1 if there is one of ours.
"""

from __future__ import annotations

import collections
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_BEGIN = re.compile(r"WARNING: ThreadSanitizer: (.*?)(?: \(pid=\d+\))?$")
_ACCESS = re.compile(r"^  (?:Previous )?(?:atomic )?(?:write|read) of size", re.IGNORECASE)
_MODULES = ("runtime_output_directory/mysqld", "plugin_output_directory/lru_stats.so")
_ADDRESS = r"(?P<module>mysqld|lru_stats\.so)\+(?P<offset>0x[0-9a-f]+)"
_FRAME = re.compile(rf"^    #\d+ .*\({_ADDRESS}\)")
_LIBRARY = re.compile(r"/include/c\+\+/|/compiler-rt/|sanitizer")

Frame = tuple[str, str, str]  #: function, file, line
Address = tuple[str, str]  #: name of the module, offset in it

#: Where we read on purpose what others write meanwhile, all of it whole words that are shown or
#: looked at again; upstream reads the same ones so, in SHOW ENGINE INNODB STATUS and elsewhere.
_ON_PURPOSE = {
    ("buf0lrustats.cc", "read_since_start"): "lengths of lists, and upstream's counters",
    ("buf0lrustats.cc", "uncounted_accesses"): "upstream's counters",
    (
        "buf0lrustats.cc",
        "lru_stats_pool",
    ): "lengths of lists, counters and settings, read each second",
    ("buf0lrustats.cc", "buf_lru_stats_not_old"): "upstream's counter of evictions",
    ("buf0lrustats.cc", "buf_lru_hook_accessed"): "which part a page is in; is anything evicted",
    ("buf0lruevict.cc", "evict"): "upstream's counter of what was read ahead in vain, as elsewhere",
    (
        "buf0lruevict.cc",
        "lambda of walk",
    ): "upstream's flag that a search is worth while, read in each",
    ("buf0lruflusher.h", "written"): "the same flag",
    ("buf0lruflush.cc", "buf_lru_flusher_taken_low"): "the same flag, which a debug keyword clears",
    ("buf0lruflusher.h", "state"): "lengths of lists, which plan a walk and bound nothing else",
    ("buf0lruflush.h", "buf_lru_flusher_setting"): "upstream's settings, which its SET writes",
    ("buf0lruflush.h", "buf_lru_flusher_set"): "innodb_lru_scan_depth, read by its page cleaner",
    # The constructor of a descriptor that is being copied, beside one who counts pages.
    ("buf0lruhook.h", "Buf_lru_history"): "the page counts in either index",
    ("buf0lruhook.h", "index"): "the same",
    ("buf0lruwalk.h", "buf_lru_walk"): "a page's state, looked at again under its mutex",
    ("buf0lrunames.cc", "resolve"): "an index that is being created",
    ("buf0lruindex.cc", "lambda of look_through_pool"): "which part a page is in",
    ("buf0lrunames.cc", "lambda of resolve"): "an index that is being created",
    (
        "buf0lrutrace.cc",
        "lambda of buf_lru_trace_set",
    ): "which page it is, looked at again under its mutex",
    ("buf0buf.ic", "buf_page_set_old"): "which part a page is in, read without a latch by upstream",
    ("buf0buf.ic", "buf_page_peek_if_too_old"): "the same",
    ("purger_thread.cc", "is_pause_due"): "a setting, as the server reads its own",
    ("purger_thread.cc", "pause"): "the same",
    ("purger_thread.cc", "is_disk_nearly_full"): "the same",
    ("fil0priv.h", "fil_fast_read_racy"): "an old size sends the caller the way with the mutex",
}


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


def added_lines() -> set[tuple[str, int]]:
    """Which lines patches add to upstream's files, by the name of the file without its folders."""
    patches = "\n".join(patch.read_text() for patch in (ROOT / "patches").glob("*.patch"))
    found: set[tuple[str, int]] = set()
    for path in set(re.findall(r"^\+\+\+ b/(.*)$", patches, re.MULTILINE)):
        files = [ROOT / "build" / tree / path for tree in ("upstream", "tree")]
        if not all(file.is_file() for file in files):
            continue
        command = ["git", "diff", "--no-index", "--unified=0", *map(str, files)]
        changes = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        for first, number in re.findall(r"^@@ .*\+(\d+)(?:,(\d+))? @@", changes, re.MULTILINE):
            start = int(first)
            end = start + int(number or 1)
            found |= {(Path(path).name, line) for line in range(start, end)}
    return found


def reports(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Kind and lines of each report."""
    kind = ""
    report: list[str] = []
    for line in lines:
        begin = _BEGIN.search(line)
        if begin:
            kind, report = begin.group(1), []
        elif line.startswith("=====") and kind:
            yield kind, report
            kind = ""
        if kind:
            report.append(line.rstrip())


def symbols(objects: Path, addresses: Iterable[Address]) -> dict[Address, list[Frame]]:
    """For each address its frames, what was inlined first."""
    symbolizer = shutil.which("llvm-symbolizer-19") or shutil.which("llvm-symbolizer")
    if symbolizer is None:
        raise SystemExit("tsan_reports: llvm-symbolizer is missing: apt-get install llvm-19")
    addresses = set(addresses)
    found = {}
    for module in (objects / name for name in _MODULES):
        offsets = sorted(offset for name, offset in addresses if name == module.name)
        if not offsets:
            continue
        command = [symbolizer, f"--obj={module}", "--output-style=LLVM", "--inlines"]
        answer = subprocess.run(
            command, input="\n".join(offsets) + "\n", capture_output=True, text=True, check=True
        ).stdout
        for offset, block in zip(offsets, answer.split("\n\n"), strict=False):
            lines = block.strip().splitlines()
            frames = []
            for function, where in zip(lines[::2], lines[1::2], strict=False):
                file, line, _column = where.rsplit(":", 2)
                frames.append((function, file, line))
            found[module.name, offset] = frames
    return found


def address_in(line: str) -> Address | None:
    """Which address a line of a stack names."""
    frame = _FRAME.match(line.partition(" (BuildId")[0])
    return (frame["module"], frame["offset"]) if frame else None


def stacks(
    report: Iterable[str], known: dict[Address, list[Frame]]
) -> Iterator[tuple[bool, list[Frame]]]:
    """For each stack of a report: is it that of an access; its frames."""
    access, frames = False, []
    for line in report:
        address = address_in(line)
        if address:
            frames += known[address]
        elif not line.startswith("    #"):
            if frames:
                yield access, frames
            frames = []
            if line.strip():
                access = bool(_ACCESS.match(line))
    if frames:
        yield access, frames


def name_of(function: str) -> str:
    """Without namespace, template arguments and parameters; that of a lambda's function."""
    function = function.replace("(anonymous namespace)::", "")
    qualified, *_ = re.findall(r"^[\w~:]*", function)
    return qualified.rpartition("::")[2]


def name_in(frames: list[Frame]) -> str:
    """That of the first frame; of a lambda, which function it is of: the next one of its file."""
    function, file, _ = frames[0]
    name = name_of(function)
    if "operator()" not in function:
        return name
    if name == "operator":
        outer = (name_of(other) for other, where, _ in frames[1:] if where == file)
        name = next((other for other in outer if other != "operator"), "unknown")
    return f"lambda of {name}"


def place(
    report: list[str],
    kind: str,
    own: set[str],
    added: set[tuple[str, int]],
    known: dict[Address, list[Frame]],
) -> tuple[str, bool]:
    """Where it is, and if that is ours."""
    where, ours = [], False
    for access, frames in stacks(report, known):
        code = [frame for frame in frames if not _LIBRARY.search(frame[1])] or frames
        if kind == "data race":
            if not access:
                continue
            _, file, line = code[0]
            name = Path(file).name
            known_one = (name, name_in(code)) in _ON_PURPOSE
            ours = ours or ((name in own or (name, int(line)) in added) and not known_one)
        else:
            ours = ours or any(Path(frame[1]).name in own for frame in frames)
        _, file, line = code[0]
        where.append(f"{name_in(code)} {Path(file).name}:{line}")
    return f"{kind}: " + " | ".join(where[:2]), ours


def main(objects: Path, files: Iterable[Path]) -> int:
    own, added = own_files(), added_lines()
    found: list[tuple[str, list[str]]] = []
    for name in files:
        with name.open(errors="replace") as lines:
            found += reports(lines)
    addresses = (address_in(line) for _, report in found for line in report)
    known = symbols(objects, filter(None, addresses))
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    first: dict[str, list[str]] = {}
    for kind, report in found:
        key = place(report, kind, own, added, known)
        counts[key] += 1
        first.setdefault(key[0], report)
    upstream = {where: number for (where, ours), number in counts.items() if not ours}
    mine = {where: number for (where, ours), number in counts.items() if ours}
    for where, number in sorted(mine.items()):
        print(f"ours, {number} times: {where}")
        for line in first[where]:
            address = address_in(line)
            for function, file, at in known[address] if address else ():
                print(f"    {function} {Path(file).name}:{at}")
            if not line.startswith("    #"):
                print(line)
    print(
        f"tsan: {sum(mine.values())} reports of our files, {sum(upstream.values())}"
        f" of upstream's in {len(upstream)} places"
    )
    return 1 if mine else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1]), map(Path, sys.argv[2:])))
