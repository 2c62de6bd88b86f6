#!/usr/bin/env python3
"""Adds up JUnit reports, of mysql-test-run and pytest: why each failed test failed,
in a few lines, and one line of sums. Exit 1 on a failure.

A test that passed only when it was tried again has failed. A test that was skipped
has failed, too, unless superbuild/skips lists it with a reason, or another of its
combinations (binary log formats) passed: nobody reads a list of skips, and a missing
plugin would turn a whole suite green.
"""

import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from xml.sax.saxutils import escape

SKIPS = Path(__file__).parent / "skips"
# What a reader of the end of a log needs: enough to see which line is at fault.
REASON_LINES = 8
# Of a server that hung, see hung.py.
HUNG_LINES = 16
RAW_MESSAGE = re.compile(r'(?<=message=").*?(?="\s*/?>)', re.DOTALL)
QUOTE = {'"': "&quot;"}
# Lines of a server's log that say why it has ended.
SERIOUS = re.compile(r"\[ERROR\]|Assertion|got signal|AddressSanitizer|ThreadSanitizer")


def reason(failure):
    """The lines of a result that differ, or else what it said, from its beginning."""
    lines = [line.strip() for line in (failure.text or "").splitlines() if line.strip()]
    # What a statement has printed may begin like that, too.
    is_diff = any(line.startswith("+++ ") for line in lines)
    differing = [
        line
        for line in lines
        if is_diff and line[0] in "+-" and not line.startswith(("+++ ", "--- "))
    ]
    errors = [line for line in lines if line.startswith(("mysqltest: ", "Returned error: ", "E  "))]
    said = [line.strip() for line in (failure.get("message") or "").splitlines() if line.strip()]
    if differing or errors:
        # Of a test that hung, mysqltest says only where.
        hung = [line for line in said if "timeout" in line.lower()]
        return (hung + (differing or errors))[:REASON_LINES]
    # A server or mysqltest itself has ended: mtr's message says which, and the log
    # of the server, if there is one, says why.
    serious = [line for line in lines if SERIOUS.search(line)]
    return (said + (serious or lines))[:REASON_LINES] or [""]


def read_skips(path=SKIPS):
    """Test names that may be skipped; a line is a name and a reason."""
    names = set()
    for line in path.read_text().splitlines():
        name, *why = line.split("#", 1)[0].split(maxsplit=1)[:2] or [""]
        if name and not why:
            raise ValueError(f"{path}: {name} has no reason beside it")
        names.add(name)
    return names


def verdict(case):
    """passed, failed or skipped, and what to print of it."""
    status = (case.get("status") or "").lower()
    for tag in ("failure", "error"):
        if (element := case.find(tag)) is not None:
            return "failed", reason(element)
    if status == "unstable" or case.find("unstable") is not None:
        return "failed", ["it failed, and passed when it was tried again"]
    for tag in ("skipped", "disabled"):
        if (element := case.find(tag)) is not None or status == tag:
            return "skipped", [(element.get("message") or "") if element is not None else ""]
    if status in ("", "pass"):
        return "passed", []
    return "failed", [f"its status is {status!r}"]


def cases(path):
    """The tests of a report. mysql-test-run writes some messages as they are."""
    text = Path(path).read_text(errors="replace")
    try:
        return ET.fromstring(text).iter("testcase")
    except ET.ParseError:
        text = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", text)
        return ET.fromstring(RAW_MESSAGE.sub(lambda raw: escape(raw[0], QUOTE), text)).iter(
            "testcase"
        )


def add_up(paths, may_be_skipped):
    """How many passed, what failed and why, how many were skipped with a reason."""
    passed, failed, skipped = 0, {}, 0
    for path in paths:
        went_through, not_run = set(), []
        for case in cases(path):
            name = f"{case.get('suitename') or case.get('classname')}.{case.get('name')}"
            outcome, why = verdict(case)
            if outcome == "failed":
                failed[f"{name} ({Path(path).stem})"] = why
            elif case.get("suitename") == "shutdown_report":
                pass  # mtr's own last check of the servers; counts only when it fails
            elif outcome == "skipped":
                not_run.append((name, why))
            else:
                passed += 1
                went_through.add(name)
        for name, why in not_run:
            if name in may_be_skipped or name in went_through:
                skipped += 1
            else:
                failed[f"{name} ({Path(path).stem})"] = [f"skipped: {why[0]}"]
    return passed, failed, skipped


def hung(paths):
    """What hung.py has written beside the reports."""
    for path in sorted({path for of in paths for path in Path(of).parent.glob("hung-*.txt")}):
        yield path.stem, [line[:240] for line in path.read_text().splitlines()[:HUNG_LINES]]


def main(paths):
    try:
        passed, failed, skipped = add_up(paths, read_skips())
    except (OSError, ET.ParseError) as error:
        sys.exit(f"results: no report of a finished test run: {error}")
    except ValueError as error:
        sys.exit(f"results: {error}")
    for name in sorted(failed):
        print("\n  ".join([f"failed: {name}", *(line[:160] for line in failed[name])]))
    for name, threads in hung(paths):
        print("\n  ".join([f"{name}: the threads of a server whose test hung", *threads]))
    print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
    sys.exit(bool(failed) or not passed)


if __name__ == "__main__":
    main(sys.argv[1:])
