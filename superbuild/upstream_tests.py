#!/usr/bin/env python3
"""Runs whole suites of upstream's on a build, and compares builds test by test.

    upstream_tests.py run --preset PRESET [--on] [--minutes N] [SUITE ...]
    upstream_tests.py table     one table of all that was run; exit 1 on a difference
                                that superbuild/upstream_differences does not explain

A run is cut into parts; what is interrupted goes on with the part in which it
stopped. --on: with all of our switches on, and not as they are by default. Tests
get all of upstream's std_data: what upstream/omit leaves out is unpacked here.
Results: build/upstream-tests/results.csv. Failures: build/PRESET/upstream-tests/failed.
"""

import argparse
import csv
import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "upstream-tests"
TABLE = FOLDER / "results.csv"
DIFFERENCES = ROOT / "superbuild" / "upstream_differences"
COLUMNS = ["test", "build", "outcome", "seconds", "reason"]
PART = 30  #: tests a part

SUITES = """main innodb innodb_fts innodb_gis innodb_undo innodb_zip parts binlog binlog_gtid
binlog_nogtid rpl rpl_gtid rpl_nogtid clone encryption perfschema sys_vars
information_schema""".split()  # noqa: SIM905

ON = ["innodb-page-io-fast-path", "innodb-lru-flusher", "binlog-purge-background"]
#: The worst of a test's combinations counts; one that was skipped, if all were.
ORDER = ["failed", "passed", "skipped"]


def whole_std_data():
    """What upstream/omit leaves out of std_data, from upstream's tarball."""
    folder = FOLDER / "std_data"
    omit = (ROOT / "upstream" / "omit").read_text()
    stamp = folder.with_suffix(".stamp")
    if stamp.exists() and stamp.read_text() == omit:
        return folder
    patterns = [line for line in omit.splitlines() if line.startswith("mysql-test/std_data/")]
    tarball = subprocess.run(
        [ROOT / "superbuild" / "upstream.sh", "fetch"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.strip()
    print(f"upstream-tests: unpacking std_data of {Path(tarball).name}", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    subprocess.run(
        ["tar", "--extract", "--file", tarball, "--directory", folder, "--strip-components=3"]
        + ["--no-same-owner", "--wildcards", "--no-wildcards-match-slash"]
        + [f"*/{pattern}" for pattern in patterns],
        check=True,
    )
    stamp.write_text(omit)
    return folder


def whole_tree(preset):
    """A tree that looks like the source of a preset, with a whole mysql-test."""
    source = (ROOT / "build" / preset / "src").resolve()
    tree = ROOT / "build" / preset / "upstream-tests" / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    for path in source.iterdir():
        if path.name != "mysql-test":
            (tree / path.name).symlink_to(path)
    # Hard links: a copy in no time.
    subprocess.run(["cp", "-al", source / "mysql-test", tree], check=True)
    for path in whole_std_data().iterdir():
        subprocess.run(["cp", "-a", path, tree / "mysql-test" / "std_data"], check=True)
    return tree


def tests_of(tree, suite):
    folder = tree / "mysql-test" / ("t" if suite == "main" else f"suite/{suite}/t")
    names = sorted(path.stem for path in folder.glob("*.test"))
    if not names:
        sys.exit(f"upstream-tests: there are no tests in a suite {suite}")
    return names


def read():
    if not TABLE.exists():
        return []
    with TABLE.open(newline="") as opened:
        return list(csv.DictReader(opened))


def outcomes(xml, suite, names, build, complete=True):
    """A row a test; the worst of its combinations. Without complete, mysql-test-run has not come to
    all tests, and one that it does not mention has no row."""
    found = {}
    for case in ET.parse(xml).iter("testcase"):
        outcome, why = results.verdict(case)
        name = f"{case.get('suitename')}.{case.get('name')}"
        if case.get("suitename") == "shutdown_report":
            continue
        before = found.get(name)
        seconds = float(case.get("time") or 0) + (before["seconds"] if before else 0)
        if before is None or ORDER.index(outcome) < ORDER.index(before["outcome"]):
            found[name] = {"outcome": outcome, "reason": " / ".join(why)[:300]}
        found[name]["seconds"] = round(seconds, 1)
    rows = []
    for name in names:
        row = found.get(f"{suite}.{name}")
        if row is None and not complete:
            continue
        # Big ones, or for another system: mysql-test-run does not mention them.
        row = row or {"outcome": "skipped", "reason": "left out by mysql-test-run", "seconds": 0}
        rows.append({"test": f"{suite}.{name}", "build": build, **row})
    return rows


def keep_logs(logs, kept, test):
    """Of a test that failed: a folder for each of its combinations, test-row."""
    for folder in [*logs.glob(test), *logs.glob(f"{test}-*")]:
        shutil.rmtree(kept / folder.name, ignore_errors=True)
        ignored = shutil.ignore_patterns("data", "core*")
        shutil.copytree(folder, kept / folder.name, ignore=ignored)


def run_part(preset, build, tree, suite, names, switches):
    work = ROOT / "build" / preset / "upstream-tests"
    mtr = work / "mtr"  # of the user who runs the tests
    shutil.rmtree(mtr, ignore_errors=True)
    subprocess.run([ROOT / "superbuild" / "as-user.sh", "--own", mtr], check=True)
    xml = mtr / "report.xml"
    parallel = os.environ.get("MTR_PARALLEL") or str(2 * (os.cpu_count() or 1))
    pattern = "|".join(re.escape(name) for name in names)
    command = [
        ROOT / "superbuild" / "mtr.sh",
        preset,
        f"--suite={suite}",
        f"--do-test=^(?:{pattern})$",
        f"--parallel={parallel}",
        f"--vardir={mtr / 'var'}",
        f"--xml-report={xml}",
        "--suite-timeout=120",
        "--report-unstable-tests",
        *(f"--mysqld={switch}" for switch in switches),
    ]
    log = work / "output"
    with log.open("ab") as output:
        begin = output.tell()
        subprocess.run(
            command,
            env=os.environ | {"MTR_TREE": str(tree)},
            stdout=output,
            stderr=output,
            check=False,
        )
    if not xml.exists():
        sys.exit(f"upstream-tests: mysql-test-run made no report, see {log}")
    with log.open("rb") as output:
        output.seek(begin)
        complete = b"Not all tests completed" not in output.read()
    rows = outcomes(xml, suite, names, build, complete)
    if len(rows) < len(names):
        print(
            f"upstream-tests: {len(names) - len(rows)} tests were not begun, see {log}; next time"
        )
    for row in rows:
        if row["outcome"] == "failed":
            keep_logs(mtr / "var" / "log", work / "failed" / build.replace(" ", "-"), row["test"])
    return rows


def run(arguments):
    preset = arguments.preset
    if not (ROOT / "build" / preset / "obj" / "runtime_output_directory" / "mysqld").is_file():
        sys.exit(f"upstream-tests: build/{preset} holds no server; 'make {preset}'")
    build = preset + (" on" if arguments.on else "")
    switches = [f"--loose-{switch}=ON" for switch in ON] if arguments.on else []
    FOLDER.mkdir(parents=True, exist_ok=True)
    if arguments.again:
        rows = [r for r in read() if not (r["build"] == build and r["outcome"] == "failed")]
        write(rows, "w")
    done = {row["test"] for row in read() if row["build"] == build}
    tree = whole_tree(preset)
    until = time.monotonic() + arguments.minutes * 60 if arguments.minutes else None
    for suite in arguments.suites or SUITES:
        names = [name for name in tests_of(tree, suite) if f"{suite}.{name}" not in done]
        for begin in range(0, len(names), PART):
            if until and time.monotonic() > until:
                print("upstream-tests: time is up; the next run goes on here")
                return 0
            rows = run_part(preset, build, tree, suite, names[begin : begin + PART], switches)
            write(rows, "a")
            counts = {o: sum(row["outcome"] == o for row in rows) for o in ORDER}
            print(
                f"{build}, {suite}: {min(begin + PART, len(names))} of {len(names)}: "
                + ", ".join(f"{count} {outcome}" for outcome, count in counts.items()),
                flush=True,
            )
            for row in rows:
                if row["outcome"] == "failed":
                    print(f"  failed: {row['test']}: {row['reason'][:200]}", flush=True)
    shutil.rmtree(tree)
    return 0


def write(rows, mode):
    new = mode == "w" or not TABLE.exists()
    with TABLE.open(mode, newline="") as opened:
        writer = csv.DictWriter(opened, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerows(rows)


def read_differences(path=DIFFERENCES):
    """Why a test's outcome is not that of stock: by test, what its failure says, and the reason."""
    why = {}
    for line in path.read_text().splitlines():
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        read = re.fullmatch(r'(\S+)\s+"([^"]+)"\s+(.+)', text)
        if read is None:
            raise SystemExit(
                f"{path}: {text.split()[0]} needs beside it, in quotes, what its failure says, and a reason"
            )
        why[read[1]] = read[2], read[3]
    return why


def compare(rows, differences, stock="stock-debug"):
    """Lines of the table, of tests that differ or fail; tests without an explanation."""
    by_test, said = defaultdict(dict), defaultdict(list)
    for row in rows:
        by_test[row["test"]][row["build"]] = row["outcome"]
        if row["outcome"] == "failed" and row["build"] != stock:
            said[row["test"]].append(row["reason"])
    builds = sorted({row["build"] for row in rows} - {stock})
    lines, open_ = [], []
    for test, own in sorted(by_test.items()):
        reference = own.get(stock, "not run")
        others = [own.get(build, "not run") for build in builds]
        bad = [o for o in others if o not in ("not run", reference)]
        if reference == "not run":
            bad = [o for o in others if o == "failed"]
        if not bad and reference != "failed":
            continue
        text, why = differences.get(test, ("", "" if bad else "fails on stock, too"))
        if bad and not all(why and text in reason for reason in said[test] or [text]):
            open_.append(test)
            why = "**not explained**"
        lines.append(f"| `{test}` | {' | '.join([reference, *others])} | {why} |")
    return builds, lines, open_


def table(_arguments):
    rows = read()
    builds, lines, open_ = compare(rows, read_differences())
    print("| build | tests | passed | failed | skipped |\n|---|---|---|---|---|")
    for build in ["stock-debug", *builds]:
        own = [row["outcome"] for row in rows if row["build"] == build]
        counts = " | ".join(str(own.count(o)) for o in ("passed", "failed", "skipped"))
        print(f"| {build} | {len(own)} | {counts} |" if own else f"| {build} | not run | | | |")
    print(f"\n| test | stock | {' | '.join(builds)} | why |")
    print("|---" * (len(builds) + 3) + "|")
    print("\n".join(lines))
    return 1 if open_ else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("suites", nargs="*", metavar="SUITE")
    parser.add_argument("--preset", default="debug")
    parser.add_argument("--on", action="store_true", help="all of our switches on")
    parser.add_argument("--again", action="store_true", help="what has failed, once more")
    parser.add_argument("--minutes", type=float, default=0, help="begin no part after so long")
    arguments = parser.parse_intermixed_args()
    return {"run": run, "table": table}[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
