#!/usr/bin/env python3
"""Adds up JUnit reports, of mysql-test-run and pytest: one line, exit 1 on a failure."""

import sys
import xml.etree.ElementTree as ET

passed, failed, skipped = 0, [], 0
for path in sys.argv[1:]:
    try:
        cases = list(ET.parse(path).iter("testcase"))
    except (OSError, ET.ParseError) as error:
        sys.exit(f"results: {path} is no report of a finished test run: {error}")
    for case in cases:
        name = f"{case.get('suitename') or case.get('classname')}.{case.get('name')}"
        status = (case.get("status") or "").lower()
        if case.find("failure") is not None or case.find("error") is not None or status == "fail":
            failed.append(name)
        elif case.get("suitename") == "shutdown_report":
            pass  # mtr's own last check of the servers; counts only when it fails
        elif case.find("skipped") is not None or status in ("skipped", "disabled"):
            skipped += 1
        else:
            passed += 1
if failed:
    print("failed: " + " ".join(sorted(set(failed))))
print(f"{passed} passed, {len(failed)} failed, {skipped} skipped")
sys.exit(bool(failed) or not passed)
