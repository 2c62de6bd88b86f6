#!/usr/bin/env python3
"""Breaks each feature on purpose and demands that a test notices.

  mutations.py [--preset debug] [--suite SUITE] [--check]

A file mysql-test/suite/SUITE/mutations has a line for each way to break something:

  MUTATION  SUITE.TEST  what it breaks

MUTATION is a server option, which begins with --, or a DBUG keyword that our code
evaluates to leave a hook, a lock or a check out. The test first has to pass as it is;
then it runs once more with the mutation, and has to fail. It is not enough that it is
skipped, that it hangs, or that the server does not start. Ends with a table and one
line of sums; exit 1 unless every mutation was caught.

MTR_PARALLEL: how many run side by side (default: a processor each).
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("sql", "storage", "plugin", "patches")
# Minutes for a test, and for all tests of one mutation.
TEST_TIMEOUT, RUN_TIMEOUT = 10, 30
CAUGHT = "caught"


class Problem(Exception):
    """A mutations file that says something else than it should."""


@dataclass(frozen=True)
class Mutation:
    what: str
    test: str
    breaks: str

    @property
    def mysqld_option(self):
        return self.what if self.what.startswith("--") else f"--loose-debug=+d,{self.what}"


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
            if not mutation.what.startswith("--"):
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


def text_of_sources(root):
    files = (
        file
        for folder in SOURCES
        for file in (root / folder).rglob("*")
        if file.suffix in (".cc", ".h", ".ic", ".patch")
    )
    return "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


class Runner:
    def __init__(self, preset, work):
        self.preset = preset
        self.work = work

    def run(self, name, tests, *options):
        """Runs the tests; their verdicts by name, from mtr's report."""
        report = self.work / f"{name}.xml"
        report.unlink(missing_ok=True)
        with (self.work / f"{name}.log").open("w") as log:
            subprocess.run(
                [
                    *(ROOT / "superbuild" / "mtr.sh", self.preset),
                    *("--big-test", f"--vardir={self.work / name}"),
                    f"--testcase-timeout={TEST_TIMEOUT}",
                    f"--suite-timeout={RUN_TIMEOUT}",
                    f"--xml-report={report}",
                    *options,
                    *tests,
                ],
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )
        return verdicts(report)


def verdicts(report):
    """What became of each test: passed, skipped, or how it failed; {} without a report."""
    try:
        cases = list(ET.parse(report).iter("testcase"))
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


def judge(mutation, baseline, mutated):
    """One word for the table, and how it was caught."""
    before, _ = baseline.get(mutation.test, ("not run", ""))
    if before != "passed":
        return f"{'fails' if before == CAUGHT else before} without it", ""
    after, how = mutated.get(mutation.test, ("not run", ""))
    return ("SURVIVED" if after == "passed" else after), how


def run_all(mutations, runner, parallel):
    """Yields each mutation with its verdict, as they come."""
    tests = list(dict.fromkeys(mutation.test for mutation in mutations))
    print(f"mutations: {len(tests)} tests as they are", flush=True)
    baseline = runner.run("baseline", tests, f"--parallel={parallel}")
    groups = {}
    for mutation in mutations:
        groups.setdefault(mutation.what, []).append(mutation)
    print(f"mutations: {len(groups)} mutations, {parallel} side by side", flush=True)
    with ThreadPoolExecutor(parallel) as pool:
        waiting = {
            pool.submit(
                runner.run,
                f"m{number}",
                list(dict.fromkeys(mutation.test for mutation in group)),
                "--parallel=1",
                f"--mysqld={group[0].mysqld_option}",
            ): group
            for number, group in enumerate(groups.values(), 1)
        }
        for done in as_completed(waiting):
            for mutation in waiting[done]:
                yield mutation, *judge(mutation, baseline, done.result())


def table(rows):
    head = ("mutation", "test", "breaks", "verdict", "how it was noticed")
    rows = [
        (mutation.what, mutation.test, mutation.breaks, verdict, how[:60])
        for mutation, verdict, how in rows
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
    parser.add_argument("--check", action="store_true", help="only read the files")
    arguments = parser.parse_args()
    try:
        mutations = read(suite=arguments.suite)
    except Problem as problem:
        sys.exit(f"mutations: error:\n{problem}")
    if not mutations:
        sys.exit(
            f"mutations: error: no file mysql-test/suite/{arguments.suite}/mutations names one"
        )
    if arguments.check:
        print(f"mutations: {len(mutations)} are listed")
        return

    work = ROOT / "build" / arguments.preset / "mutations"
    shutil.rmtree(work, ignore_errors=True)
    subprocess.run([ROOT / "superbuild" / "as-user.sh", "--own", work], check=True)
    # Servers that a mutation crashes leave no core files.
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    parallel = int(os.environ.get("MTR_PARALLEL") or os.cpu_count())
    if os.geteuid() != 0:
        parallel = 1  # mysql-test-run removes files of other runs; for root mtr.sh sees to that
    found = {}
    for mutation, verdict, how in run_all(mutations, Runner(arguments.preset, work), parallel):
        print(f"mutations: {mutation.what} {mutation.test}: {verdict}", flush=True)
        found[mutation] = (verdict, how)
    print()
    print(table([(mutation, *found[mutation]) for mutation in mutations]))
    count = sum(verdict == CAUGHT for verdict, _ in found.values())
    print(f"{count} caught, {len(found) - count} not caught; logs are in {work}")
    sys.exit(count < len(found))


if __name__ == "__main__":
    main()
