# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The command line: run, report, and what they take. `make bench` calls it."""

from __future__ import annotations

import argparse
import fcntl
import math
import shutil
import signal
import sys
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from harness import (
    capacity,
    machine,
    peers,
    places,
    revisions,
    run_directory,
    server_definition,
    settings,
)
from harness.errors import BenchError
from harness.interleaved import LIFE, Precision
from harness.report import write
from harness.runner import Runner
from harness.scenario import Choice, Scenario
from harness.scenarios import ALL


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return options.command(options)
    except BenchError as error:
        print(f"bench: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nbench: stopped; no server of ours is left running", file=sys.stderr)
        return 130


def _interrupt(number: int, frame: object) -> None:
    """A request to end, from make or a job's time limit, is as good as Ctrl-C."""
    raise KeyboardInterrupt


def _run(options: argparse.Namespace) -> int:
    scenarios = _scenarios(options)
    servers = [server_definition.load(name) for name in options.servers]
    if len({server.name for server in servers}) < len(servers):
        raise BenchError("the same server is named twice in SERVERS=")
    common = settings.load(places.SETTINGS, quick=options.quick)
    for server in servers:
        peers.provide(server, places.PEERS)
        if not server.mysqld.is_file():
            how = f"; '{server.build}' makes it" if server.build else ""
            raise BenchError(f"{server.name}: there is no server {server.mysqld}{how}")
    _programs(scenarios)
    places.DATA.mkdir(parents=True, exist_ok=True)
    places.RESULTS.mkdir(parents=True, exist_ok=True)
    with _only_one():
        redo = settings.size_in_bytes(str(common.values["redo_log_capacity"]))
        capacity.check(scenarios, servers, places.DATA, keep=options.keep_data, redo_bytes=redo)
        rounds = {one.name: options.rounds or _rounds(one, options.quick) for one in scenarios}
        path = _run_path(options)
        run = run_directory.begin(
            path, scenarios, servers, scenarios[0].choice, rounds, machine.describe(places.WORK)
        )
        print(f"bench: the run is {path.name}, in {path}", flush=True)
        # A quick run does not ask how fast.
        width = math.inf if options.quick else options.width / 100
        precision = Precision(width, options.minutes)
        runner = Runner(
            run, servers, common, places.DATA, keep_data=options.keep_data, precision=precision
        )
        try:
            runner.run(scenarios, rounds)
        except KeyboardInterrupt:
            print(
                f"\nbench: interrupted; what was measured is kept. Go on: make bench RUN={path.name}"
            )
            raise
        finally:
            _report_on(path)
    failed = [remark for remark in run.remarks if remark.kind == "failed"]
    if failed:
        print(f"bench: {len(failed)} measurements failed; the report lists them", file=sys.stderr)
    return 1 if failed else 0


def _rounds(scenario: Scenario, quick: bool) -> int:
    """Its own number. A quick run asks whether it works: one life of bursts will do."""
    return LIFE if quick and scenario.interleaved else scenario.rounds


def _report_on(path: Path) -> None:
    run = run_directory.load(path)
    html = write.report(run)
    print(f"bench: report: {html} (report.md and csv/ beside it)", flush=True)


def _redraw(options: argparse.Namespace) -> int:
    if options.run and "/" in options.run:
        _report_on(_copy_of_kept(places.ROOT / options.run))
    else:
        _report_on(places.RESULTS / options.run if options.run else _newest())
    return 0


def _copy_of_kept(path: Path) -> Path:
    """Of a committed result, which stays as it is."""
    run_directory.load(path)
    copy = places.WORK / "drawn" / path.name
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir(parents=True)
    shutil.copy(path / "run.json", copy)
    shutil.copytree(path / "csv", copy / "csv")
    return copy


def _keep(options: argparse.Namespace) -> int:
    run = run_directory.load(places.RESULTS / options.run)
    folder = places.KEPT / options.run
    if folder.exists():
        raise BenchError(
            f"{folder} is there already: git rm it first, or give the run another name"
        )
    if run.content["quick"]:
        raise BenchError(f"{options.run} is a quick run: it says that all works, and no figure")
    for revision in sorted(revisions.measured(run.content)):
        if not revisions.is_in_history(revision):
            raise BenchError(
                f"the revision {revision} was measured, which is not in the history of this "
                "checkout: nobody could repeat it"
            )
    partial = folder.parent / f"{folder.name}.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    write.keep(run, partial, str(folder.relative_to(places.ROOT)))
    partial.rename(folder)
    print(
        f"bench: kept in {folder}; its section in {places.KEPT / 'README.md'} is still to be written:"
    )
    print(revisions.section(options.run, run.content))
    return 0


def _scenarios(options: argparse.Namespace) -> list[Scenario]:
    known = {scenario.name: scenario for scenario in ALL}
    choice = Choice(options.quick, options.seconds, _variants(options.variant), places.WORK)
    for name in options.scenarios:
        if name not in known:
            raise BenchError(f"there is no scenario {name!r}; known: {', '.join(known)}")
    wanted = options.scenarios or list(known)
    chosen = [scenario for name, scenario in known.items() if name in wanted]
    variants = {name for scenario in chosen for name in scenario.variants}
    for name in choice.variants:
        if name not in variants:
            raise BenchError(f"no scenario of this run has a variant {name!r}; {_listed(chosen)}")
    return [scenario(choice) for scenario in chosen]


def _listed(scenarios: Sequence[type[Scenario]]) -> str:
    parts = [f"{one.name}: {', '.join(one.variants)}" for one in scenarios if one.variants]
    return "known are, of " + "; ".join(parts) if parts else "there are none"


def _variants(words: Sequence[str]) -> dict[str, str]:
    variants = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not value:
            raise BenchError(f"VARIANT: {word!r} is not name=value (or name=value,value)")
        variants[name] = value
    return variants


def _programs(scenarios: Sequence[Scenario]) -> None:
    wanted = {program for scenario in scenarios for program in scenario.needs()}
    missing = sorted(program for program in wanted if not shutil.which(program))
    if missing:
        raise BenchError(
            f"not installed: {', '.join(missing)}; apt-get install {' '.join(missing)}"
        )


def _run_path(options: argparse.Namespace) -> Path:
    if options.resume:
        return _newest()
    return places.RESULTS / (options.run or f"{datetime.now():%Y%m%d-%H%M%S}")


def _newest() -> Path:
    runs = sorted(places.RESULTS.glob("*/run.json"), key=lambda file: file.stat().st_mtime)
    if not runs:
        raise BenchError(f"{places.RESULTS} holds no run yet")
    return runs[-1].parent


class _only_one:
    """Two runs at a time would measure each other."""

    def __enter__(self) -> None:
        self._file = (places.WORK / "lock").open("w")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BenchError("another make bench runs in this checkout; wait for it") from error

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="harness", description=__doc__)
    commands = parser.add_subparsers(required=True)
    run = commands.add_parser("run", help="measure, and write the report")
    run.set_defaults(command=_run)
    run.add_argument("--scenarios", nargs="*", default=[], help="all, if none is named")
    run.add_argument("--servers", nargs="+", required=True, help="names in servers/, or files")
    run.add_argument("--rounds", type=_positive, help="instead of each scenario's own number")
    run.add_argument("--seconds", type=_positive, help="length of a timed point")
    run.add_argument("--width", type=_positive_real, default=2, help="percent: bursts go on until")
    run.add_argument("--minutes", type=_positive_real, default=10, help="of bursts, at one point")
    run.add_argument("--variant", nargs="*", default=[], help="name=value of a scenario")
    run.add_argument("--quick", action="store_true", help="small and short: does it work?")
    run.add_argument("--keep-data", action="store_true", help="do not remove data directories")
    which = run.add_mutually_exclusive_group()
    which.add_argument("--run", help="the run's name; one that exists is continued")
    which.add_argument("--resume", action="store_true", help="continue the newest run")
    report = commands.add_parser("report", help="draw the report of a run again")
    report.set_defaults(command=_redraw)
    report.add_argument(
        "--run", help="the run's name, or docs/results/NAME; the newest, if none is given"
    )
    keep = commands.add_parser("keep", help="put into docs/results what is committed of a run")
    keep.set_defaults(command=_keep)
    keep.add_argument("--run", required=True, help="the run's name")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def _positive_real(text: str) -> float:
    number = float(text)
    if not number > 0:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


if __name__ == "__main__":
    sys.exit(main())
