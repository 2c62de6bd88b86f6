#!/usr/bin/env python3
"""Adds up JUnit reports, of mysql-test-run and pytest: why each failed test failed,
in a few lines, and one line of sums. Exit 1 on a failure."""

import sys
import xml.etree.ElementTree as ET

# What a reader of the end of a log needs: enough to see which line is at fault.
REASON_LINES = 8


def reason(failure):
    """The lines of a result that differ, or else what it said, from its beginning."""
    lines = [line.strip() for line in (failure.text or "").splitlines() if line.strip()]
    differing = [
        line for line in lines if line[0] in "+-" and not line.startswith(("+++ ", "--- "))
    ]
    errors = [line for line in lines if line.startswith(("mysqltest: ", "E  "))]
    return (differing or errors or lines)[:REASON_LINES] or [failure.get("message") or ""]


passed, failed, skipped = 0, {}, 0
for path in sys.argv[1:]:
    try:
        cases = list(ET.parse(path).iter("testcase"))
    except (OSError, ET.ParseError) as error:
        sys.exit(f"results: {path} is no report of a finished test run: {error}")
    for case in cases:
        name = f"{case.get('suitename') or case.get('classname')}.{case.get('name')}"
        status = (case.get("status") or "").lower()
        failure = case.find("failure")
        if failure is None:
            failure = case.find("error")
        if failure is not None or status == "fail":
            failed[name] = reason(failure) if failure is not None else []
        elif case.get("suitename") == "shutdown_report":
            pass  # mtr's own last check of the servers; counts only when it fails
        elif case.find("skipped") is not None or status in ("skipped", "disabled"):
            skipped += 1
        else:
            passed += 1
for name in sorted(failed):
    print("\n  ".join([f"failed: {name}", *(line[:160] for line in failed[name])]))
print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
sys.exit(bool(failed) or not passed)
