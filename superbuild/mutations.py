#!/usr/bin/env python3
"""Breaks each feature on purpose and demands that a test notices.

  mutations.py [--preset debug] [--suite SUITE] [--mutation NAME] [--again] [--minutes N]
  mutations.py --check

A file mysql-test/suite/SUITE/mutations has a line for each way to break something:

  MUTATION  SUITE.TEST  what it breaks

MUTATION is a server option, which begins with --, or a DBUG keyword that our code
evaluates to leave a hook, a lock or a check out. The test first has to pass as it is;
then it runs once more with the mutation, and has to fail. It is not enough that it is
skipped, that it hangs, or that the server does not start. Ends with a table and one
line of sums; exit 1 unless every mutation was caught.

Goes on where it stopped: what was caught is in build/PRESET/mutations.tsv, with the
revision, and is run again (--again: in any case) only when our server code has changed
since, or a file of the test's suite or of a suite whose files it takes. --minutes: starts
none after so many, and leaves them to the next time.

MTR_PARALLEL: how many run side by side (default: a processor each).
"""

import argparse
import csv
import hashlib
import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("sql", "storage", "plugin", "patches")
# Minutes for a test, and for all combinations (binary log formats) of one.
TEST_TIMEOUT, RUN_TIMEOUT = 10, 30
# Seconds until a sync point that is never reached is given up: a broken server may not
# reach it, and mysql-test-run has 600.
SYNC_TIMEOUT = 120
CAUGHT = "caught"
AS_IS = "-"


class Problem(Exception):
    """A mutations file that says something else than it should."""


@dataclass(frozen=True)
class Mutation:
    what: str
    test: str
    breaks: str

    @property
    def mysqld_options(self):
        if self.what == AS_IS:
            return []
        option = self.what if self.what.startswith("--") else f"--loose-debug=+d,{self.what}"
        return [f"--mysqld={option}"]


def read(root=ROOT, suite="*"):
    """All mutations, in the order of the files; a Problem names file and line."""
    problems, mutations = [], []
    sources = None
    for file in sorted((root / "mysql-test" / "suite").glob(f"{suite}/mutations")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            fields = line.split("#", 1)[0].split(maxsplit=2)
            if not fields:
                continue
            place = f"{file.relative_to(root)}:{number}"
            if len(fields) < 3:
                problems.append(f"{place}: wants MUTATION SUITE.TEST and what it breaks")
                continue
            mutation = Mutation(*fields)
            if not test_file(root, mutation.test).is_file():
                problems.append(f"{place}: there is no test {mutation.test}")
            if mutation.what.startswith("--"):
                later = [
                    file.name
                    for file in opt_files(root, mutation.test)
                    if option_name(mutation.what) in map(option_name, file.read_text().split())
                ]
                if later:
                    problems.append(
                        f"{place}: {later[0]} sets {option_name(mutation.what)}, too, and comes later: "
                        "break it by a keyword"
                    )
            else:
                sources = text_of_sources(root) if sources is None else sources
                if f'"{mutation.what}"' not in sources:
                    problems.append(f"{place}: no code of ours evaluates {mutation.what}")
            mutations.append(mutation)
    if problems:
        raise Problem("\n".join(problems))
    return mutations


def test_file(root, name):
    suite, _, test = name.partition(".")
    folder = Path("mysql-test") / ("" if suite == "main" else f"suite/{suite}") / "t"
    for tree in (root, root / "build" / "tree"):
        if (tree / folder / f"{test}.test").is_file():
            return tree / folder / f"{test}.test"
    return root / folder / f"{test}.test"


def opt_files(root, test):
    """Their options come after those that mysql-test-run is given."""
    file = test_file(root, test)
    names = (file.with_name(f"{file.stem}-master.opt"), file.with_name("suite.opt"))
    return [name for name in names if name.is_file()]


def option_name(option):
    return option.partition("=")[0].lstrip("-").replace("_", "-").removeprefix("loose-")


def text_of_sources(root):
    files = (
        file
        for folder in SOURCES
        for file in (root / folder).rglob("*")
        if file.suffix in (".cc", ".h", ".ic", ".patch")
    )
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


def digest(files):
    total = hashlib.sha256()
    for file in sorted(files):
        total.update(str(file).encode() + b"\0" + file.read_bytes())
    return total.hexdigest()[:16]


@cache
def state_of_server(root):
    return digest(
        file for folder in SOURCES for file in (root / folder).rglob("*") if file.is_file()
    )


@cache
def state_of_suite(root, suite):
    """Of the files of a suite, and of those of the suites that it takes files from."""
    suites, waiting, files = set(), [suite], []
    while waiting:
        name = waiting.pop()
        if name in suites:
            continue
        suites.add(name)
        # What says which test is to fail is no part of the test.
        own = [
            file
            for file in (root / "mysql-test" / "suite" / name).rglob("*")
            if file.is_file() and file.name != "mutations"
        ]
        files += own
        for file in own:
            waiting += re.findall(r"suite/(\w+)/", file.read_text(errors="replace"))
    return digest(files)


def state(root, test):
    return f"{state_of_server(root)}-{state_of_suite(root, test.partition('.')[0])}"


@dataclass(frozen=True)
class Result:
    """A line of the table that is kept."""

    what: str
    test: str
    verdict: str
    how: str
    seconds: str
    revision: str
    state: str


class Kept:
    """What was found, in this run and in earlier ones; the newest line counts."""

    def __init__(self, file, root=ROOT):
        self.file, self.root = file, root
        self.lock = threading.Lock()
        self.rows = {}
        if file.is_file():
            with file.open(newline="") as lines:
                for row in csv.DictReader(lines, delimiter="\t"):
                    result = Result(**row)
                    self.rows[result.what, result.test] = result
        revision = subprocess.run(
            ["git", "-C", root, "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=False,
        )
        self.revision = revision.stdout.strip() or "unknown"

    def find(self, what, test):
        """What is known of this state."""
        row = self.rows.get((what, test))
        return row if row and row.state == state(self.root, test) else None

    def add(self, what, test, verdict, how, seconds):
        row = Result(
            what, test, verdict, how, f"{seconds:.0f}", self.revision, state(self.root, test)
        )
        with self.lock, self.file.open("a", newline="") as lines:
            self.rows[what, test] = row
            names = [field.name for field in fields(Result)]
            writer = csv.DictWriter(lines, names, delimiter="\t", lineterminator="\n")
            if lines.tell() == 0:
                writer.writeheader()
            writer.writerow(asdict(row))
        return row


class Runner:
    """Runs mysql-test-run, in as many folders as may be in use at a time. A folder keeps
    the data directory that is made once and copied for each test."""

    def __init__(self, preset, work, parallel):
        self.preset = preset
        self.work = work
        self.folders = queue.SimpleQueue()
        for number in range(1, parallel + 1):
            self.folders.put(work / f"var{number}")

    @contextmanager
    def folder(self):
        folder = self.folders.get()
        try:
            yield folder
        finally:
            self.folders.put(folder)

    def run(self, test, what, *options):
        """Runs the test; its verdict and why, from mtr's report."""
        name = re.sub(r"[^\w.=-]", "", f"{test}-{what}")
        # mtr does not initialize a data directory anew if it is to keep it.
        is_made_anew = any("--initialize" in f.read_text() for f in opt_files(ROOT, test))
        report = self.work / f"{name}.xml"
        report.unlink(missing_ok=True)
        with self.folder() as var, (self.work / f"{name}.log").open("w") as log:
            subprocess.run(
                [
                    *(ROOT / "superbuild" / "mtr.sh", self.preset),
                    *("--big-test", "--parallel=1", "--max-test-fail=1"),
                    *([] if is_made_anew else ["--fast"]),
                    *(f"--vardir={var}", f"--xml-report={report}"),
                    f"--testcase-timeout={TEST_TIMEOUT}",
                    f"--suite-timeout={RUN_TIMEOUT}",
                    f"--debug-sync-timeout={SYNC_TIMEOUT}",
                    *options,
                    test,
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                # Waits that a mutation makes last for ever are given up as upstream does.
                env={**os.environ, "SLUICE_WAIT_TIMEOUT": "30"},
                check=False,
            )
            # The next run in this folder removes them.
            shutil.rmtree(self.work / name, ignore_errors=True)
            if (var / "log").is_dir():
                shutil.copytree(var / "log", self.work / name, symlinks=True)
        return verdicts(report).get(test, ("not run", ""))


def verdicts(report):
    """What became of each test: passed, skipped, or how it failed; {} without a report."""
    try:
        cases = list(results.cases(report))
    except (OSError, ET.ParseError):
        return {}
    worst = {}
    order = ("skipped", "passed", CAUGHT, "hung", "no server")
    for case in cases:
        outcome, why = results.verdict(case)
        failure = case.find("failure")
        message = failure.get("message") or "" if failure is not None else ""
        if outcome == "failed":
            outcome = CAUGHT
            if "timeout after" in message:
                outcome = "hung"
            elif "Failed to start" in message or "'check-testcase' before" in message:
                outcome = "no server"
        name = f"{case.get('suitename')}.{case.get('name')}"
        if name not in worst or order.index(outcome) > order.index(worst[name][0]):
            worst[name] = (outcome, why[0].strip() if why else "")
    return worst


def judge(before, after):
    """One word for the table, and how it was noticed."""
    if before[0] != "passed":
        return f"{'fails' if before[0] == CAUGHT else before[0]} without it", before[1]
    return ("SURVIVED" if after[0] == "passed" else after[0]), after[1]


def run_test(test, mutations, runner, kept, until):
    """Yields the results of the mutations that this test is to catch. As long as it does
    not pass as it is, none of them is run."""
    if time.monotonic() >= until:
        return
    before = kept.find(AS_IS, test)
    if not before or before.verdict != "passed":
        start = time.monotonic()
        found = runner.run(test, AS_IS)
        before = kept.add(AS_IS, test, *found, time.monotonic() - start)
    for mutation in mutations:
        start = time.monotonic()
        if start >= until:
            return
        passed = before.verdict == "passed"
        after = runner.run(test, mutation.what, *mutation.mysqld_options) if passed else ()
        verdict = judge((before.verdict, before.how), after)
        yield kept.add(mutation.what, test, *verdict, time.monotonic() - start)


def run_all(mutations, runner, kept, parallel, until=float("inf")):
    """Runs what is not known to be caught; yields the results as they come. until: of the
    monotonic clock."""
    groups = {}
    for mutation in mutations:
        groups.setdefault(mutation.test, []).append(mutation)
    # The longest first, so that the last one does not run alone.
    order = sorted(groups.items(), key=lambda group: -len(group[1]))
    found = queue.SimpleQueue()

    def work(test, group):
        try:
            for result in run_test(test, group, runner, kept, until):
                found.put(result)
        finally:
            found.put(None)

    with ThreadPoolExecutor(parallel) as pool:
        futures = [pool.submit(work, test, group) for test, group in order]
        ended = 0
        while ended < len(order):
            if (result := found.get()) is None:
                ended += 1
            else:
                yield result
        for future in futures:
            future.result()


def remove_ended(folder):
    """Removes what runs have left that are over: each has a folder by its process id."""
    for of_run in folder.glob("*"):
        if not (of_run.name.isdigit() and Path("/proc", of_run.name).is_dir()):
            shutil.rmtree(of_run, ignore_errors=True)


def table(rows):
    head = ("mutation", "test", "breaks", "verdict", "revision", "how it was noticed")
    rows = [
        (mutation.what, mutation.test, mutation.breaks, row.verdict, row.revision, row.how[:60])
        for mutation, row in rows
    ]
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
        for row in (head, *rows)
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--preset", default="debug")
    parser.add_argument("--suite", default="*", help="the mutations of this suite only")
    parser.add_argument("--mutation", action="append", help="this one only; may be repeated")
    parser.add_argument("--again", action="store_true", help="also what is known to be caught")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="then start no more")
    parser.add_argument("--check", action="store_true", help="only read the files")
    arguments = parser.parse_args()
    until = time.monotonic() + 60 * arguments.minutes
    try:
        mutations = read(suite=arguments.suite)
    except Problem as problem:
        sys.exit(f"mutations: error:\n{problem}")
    if arguments.mutation:
        mutations = [mutation for mutation in mutations if mutation.what in arguments.mutation]
    if not mutations:
        sys.exit("mutations: error: no file mysql-test/suite/*/mutations names one of these")
    if arguments.check:
        print(f"mutations: {len(mutations)} are listed")
        return

    all_logs = ROOT / "build" / arguments.preset / "mutations"
    remove_ended(all_logs)
    work = all_logs / str(os.getpid())
    subprocess.run([ROOT / "superbuild" / "as-user.sh", "--own", work], check=True)
    # Servers that a mutation crashes leave no core files.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    parallel = int(os.environ.get("MTR_PARALLEL") or os.cpu_count())
    if os.geteuid() != 0:
        parallel = 1  # mysql-test-run removes files of other runs; for root mtr.sh sees to that

    kept = Kept(all_logs.with_suffix(".tsv"))
    found = {}
    if not arguments.again:
        for mutation in mutations:
            row = kept.find(mutation.what, mutation.test)
            if row and row.verdict == CAUGHT:
                found[mutation.what, mutation.test] = row
    todo = [mutation for mutation in mutations if (mutation.what, mutation.test) not in found]
    print(f"mutations: {len(found)} caught before, {len(todo)} to run", flush=True)
    for row in run_all(todo, Runner(arguments.preset, work, parallel), kept, parallel, until):
        found[row.what, row.test] = row
        print(
            f"mutations: {len(found)}/{len(mutations)} {row.what} {row.test}: {row.verdict}",
            f"({row.seconds} s)",
            flush=True,
        )
    print()
    done = [mutation for mutation in mutations if (mutation.what, mutation.test) in found]
    print(table([(mutation, found[mutation.what, mutation.test]) for mutation in done]))
    count = sum(row.verdict == CAUGHT for row in found.values())
    late = f"{len(mutations) - len(done)} not run, " if len(done) < len(mutations) else ""
    print(f"{count} caught, {len(done) - count} not caught, {late}logs are in {work}")
    sys.exit(count < len(mutations))


if __name__ == "__main__":
    main()
