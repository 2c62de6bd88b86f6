#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Cuts the power of servers and looks at what they recover; see docs/design/power_cuts.md.

A server runs a load (load.py) on a file system that records (recorder.cc). From the log
of one recording many failures are made (model.py), each at another place of the log, and
with another part of what was not synced (cuts.py). A server recovers from each (recovery.py);
then its rows, tables, logs and files are compared with what clients had been told (check.py).

    rig.py run      rounds over a matrix, into a table; goes on where it stopped
    rig.py mutants  the same with syncs left out: each has to be found
    rig.py table    what a table of rounds says, in Markdown
    rig.py again    one round once more, from the folder that a failure has left
    rig.py order    what breaks a rule of order.py in the folder of a recording; --matrix: a mutant
"""

from __future__ import annotations

import argparse
import bisect
import collections
import concurrent.futures
import csv
import itertools
import json
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import matrix
import pymysql
from check import Findings, check
from cuts import WEIGHTS, Cut, choose
from homes import BUILD, Homes
from ledger import Promised
from load import Load
from model import MODES, Disk
from oplog import Log
from order import look
from picker import POLICIES, Picker
from power_server import PowerServer, stress
from recording import Recording
from recovery import recover
from rounds import Table, blamed, good, processor_seconds, say

#: In place of the number of a round: the order of the whole recording, and the failure whose
#: recovery was to be recorded.
ORDER = -1
RECOVERY = -2
ANY_MODE = "any"  #: of an order, which does not depend on what survives


class Rig(Homes):
    """Recordings, and rounds that are made of them."""

    def __init__(
        self, run: Path, preset: str, workers: int, least: int = 0, minutes: float = 0
    ) -> None:
        super().__init__(run, preset)
        self.least = least
        self._until = time.monotonic() + minutes * 60 if minutes else 0.0
        self.workers = workers

    @property
    def over(self) -> bool:
        """Is no other round to begin?"""
        return bool(self._until) and time.monotonic() > self._until

    # Recordings

    def record(
        self,
        entry: matrix.Entry,
        name: str,
        seconds: float,
        seed: str,
        options: tuple[str, ...] = (),
    ) -> Path:
        """A folder with the log of a load, and a link to what it began with."""
        place = self.run / "recordings" / name
        if (place / "complete").exists():
            return place
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        base = self.base(entry)
        (place / "base").symlink_to(base)
        dice = random.Random(f"{seed} {name}")
        work = self.memory / "recording"
        work.mkdir()
        home = self.home()
        try:
            with Recording(base, work, seed=dice.randrange(1 << 30)) as recording:
                server = PowerServer(
                    self.preset, home, recording.mount, [*matrix.COMMON, *entry.options, *options]
                )
                try:
                    server.start_within(1800)
                    running = Load(server.connect, recording.mark, entry.setting, f"{seed} {name}")
                    running.begin()
                    running.run(seconds, self.least)
                    if running.errors:
                        raise stress.Failure(f"{name}: {running.errors[0]}\n{server.last_words()}")
                    recording.mark("end\n")
                    if not entry.setting.redo or dice.random() < 0.5:
                        if server.stop() != 0:
                            raise stress.Failure(f"{name}: no shutdown\n{server.last_words()}")
                        recording.mark("S\n")
                finally:
                    server.end()
            shutil.move(recording.log, place / "log")
            (place / "complete").touch()
        finally:
            shutil.rmtree(work, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)
        return place

    def record_recovery(
        self, entry: matrix.Entry, name: str, image: Path, marks: list[str]
    ) -> Path:
        """A folder with the log of a recovery, which can fail, too."""
        place = self.run / "recordings" / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        shutil.copytree(image, place / "base", symlinks=True)
        (place / "marks").write_text("\n".join(marks), encoding="ascii")
        work = self.memory / "recording"
        work.mkdir()
        home = self.home()
        try:
            with Recording(place / "base", work) as recording:
                server = PowerServer(
                    self.preset, home, recording.mount, [*matrix.COMMON, *entry.options]
                )
                try:
                    server.start_within(1800)
                    self._go_on(server, recording, entry, name, Promised.read(marks))
                finally:
                    server.end()
            shutil.move(recording.log, place / "log")
            (place / "complete").touch()
        finally:
            shutil.rmtree(work, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)
        return place

    def _go_on(
        self,
        server: PowerServer,
        recording: Recording,
        entry: matrix.Entry,
        name: str,
        promised: Promised,
    ) -> None:
        """Clients do so where they were: a server that has recovered promises the same."""
        found = Findings()
        try:
            with server.connect(None) as connection:
                check(connection, server.data, promised, entry.setting, found)
        except pymysql.Error as error:
            raise stress.Failure(f"{name}: {error}\n{server.last_words()}") from None
        if any(not entry.may(kind, entry.modes[0]) for kind, _ in found.problems):
            return  # a round finds it, too
        begun = found.begun(promised)
        for line in begun.marks():
            recording.mark(line)
        running = Load(server.connect, recording.mark, entry.setting, name, begun)
        running.begin()
        running.run(1, 20)
        if running.errors:
            raise stress.Failure(f"{name}: {running.errors[0]}\n{server.last_words()}")

    # Cuts

    def cut(
        self,
        entry: matrix.Entry,
        place: Path,
        cuts: list[Cut],
        lies: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
    ) -> Iterator[tuple[Cut, dict[str, object]]]:
        """Makes cuts of a recording, in the order of their places, and rounds of them."""
        if not cuts:
            return
        log = Log(place / "log")
        before = [
            (-1, line)
            for line in (
                (place / "marks").read_text(encoding="ascii").splitlines()
                if (place / "marks").exists()
                else []
            )
        ]
        marks = [*before, *log.marks()]
        numbers = [number for number, _ in marks]
        folder = Path(tempfile.mkdtemp(prefix="disk-", dir=self.memory))
        disk = Disk(log, place / "base", folder, cuts[0].mode, [re.compile(lie) for lie in lies])
        slots = threading.Semaphore(self.workers)
        try:
            with concurrent.futures.ThreadPoolExecutor(self.workers) as pool:
                waiting: collections.deque[
                    tuple[Cut, concurrent.futures.Future[dict[str, object]]]
                ] = collections.deque()
                for cut in cuts:
                    slots.acquire()
                    if self.over and cut.index != RECOVERY:
                        break
                    disk.advance(cut.at)
                    files = Path(tempfile.mkdtemp(dir=self.memory)) / "files"
                    counts = disk.image(Picker(cut.seed, cut.policy, cut.sector), files)
                    told = [line for _, line in marks[: bisect.bisect_left(numbers, cut.at)]]
                    future = pool.submit(
                        self._round,
                        entry,
                        cut,
                        place,
                        files,
                        told,
                        counts,
                        len(log.records),
                        options,
                    )
                    future.add_done_callback(lambda _: slots.release())
                    waiting.append((cut, future))
                    while waiting and waiting[0][1].done():
                        done, result = waiting.popleft()
                        yield done, result.result()
                for done, result in waiting:
                    yield done, result.result()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _round(
        self,
        entry: matrix.Entry,
        cut: Cut,
        place: Path,
        files: Path,
        told: list[str],
        counts: dict[str, int],
        of: int,
        options: tuple[str, ...],
    ) -> dict[str, object]:
        began = time.monotonic()
        promised = Promised.read(told)
        home = self.home()
        row: dict[str, object] = {"preset": self.preset, "of": of, **asdict(cut), **counts}
        try:
            found, recovery = recover(
                PowerServer(self.preset, home, files, [*matrix.COMMON, *entry.options, *options]),
                promised,
                entry.setting,
                all_pages=cut.index % 4 == 0,
            )
            serious = [p for p in found.problems if not entry.may(p[0], cut.mode)]
            first = (serious or found.problems or [("", "")])[0]
            if serious:
                result = first[0]
            elif found.problems:
                result = first[0] if first[0].startswith("known") else f"allowed: {first[0]}"
            else:
                result = "ok"
            row |= {
                "promised": promised.commits,
                "lost": found.lost,
                "recovery_seconds": round(recovery, 1),
                "seconds": round(time.monotonic() - began, 1),
                "result": result,
                "detail": found.detail[:1000],
            }
            if serious:
                self._keep(row, cut, place, home)
        finally:
            shutil.rmtree(files.parent, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)
        return row

    def _keep(self, row: dict[str, object], cut: Cut, place: Path, home: Path) -> None:
        """What it takes to make the round again."""
        name = f"{cut.entry}-{cut.recording}-{cut.mode}-{cut.index}".replace("/", "-")
        failure = self.run / "failures" / name
        shutil.rmtree(failure, ignore_errors=True)
        failure.mkdir(parents=True)
        (failure / "round.json").write_text(
            json.dumps({"cut": asdict(cut), "row": row, "recording": str(place)}, indent=1)
        )
        if (home / "mysqld.log").exists():
            shutil.copy2(home / "mysqld.log", failure)
        (place / "needed").touch()


def run(arguments: argparse.Namespace) -> int:
    names = arguments.matrix.split(",") if arguments.matrix else matrix.DEFAULT
    entries = [entry for entry in matrix.ENTRIES if entry.name in names]
    if unknown := set(names) - {entry.name for entry in entries}:
        raise SystemExit(f"power cuts: no such entry of the matrix: {', '.join(sorted(unknown))}")
    if not any(cuts_of(entry, arguments) for entry in entries):
        raise SystemExit("power cuts: with this mode and so few cuts these settings have none")
    folder = BUILD / arguments.run
    rig = Rig(folder, arguments.preset, arguments.workers, arguments.least, arguments.minutes)
    table = Table(folder / "rounds.csv")
    before = len(table.done)
    try:
        for number in itertools.count():
            for entry in entries:
                if len(table.done) >= arguments.rounds or rig.over:
                    break
                one_recording(rig, entry, number, arguments, table)
            else:
                continue
            break
    except KeyboardInterrupt:
        print("power cuts: ends after the rounds that are running", flush=True)
    finally:
        rig.close()
    if rounds := len(table.done) - before:
        print(f"{rounds} rounds, {processor_seconds() / rounds:.2f} processor seconds each")
    print(", ".join(f"{count} {result}" for result, count in sorted(table.results.items())))
    if not table.done:
        print("power cuts: no power was cut")
        return 1
    if idle := table.idle():
        print(
            f"power cuts: nothing was promised, or all was kept, in each round of {', '.join(idle)}"
        )
        return 1
    return 1 if any(not good(result) for result in table.results) else 0


def one_recording(
    rig: Rig, entry: matrix.Entry, number: int, arguments: argparse.Namespace, table: Table
) -> None:
    name = f"{entry.name}/{number}"
    again = f"{name}-recovery"
    shares = cuts_of(entry, arguments)
    recordings = {
        str(number): shares,
        f"{number}-recovery": {mode: count // 4 for mode, count in shares.items() if count >= 4},
    }
    wanted = {
        (entry.name, recording, mode, index)
        for recording, modes in recordings.items()
        for mode, count in modes.items()
        for index in range(count)
    }
    if wanted <= table.done:
        return
    print(f"{name}: recording", flush=True)
    place = rig.record(entry, name, arguments.seconds, arguments.seed)
    log = Log(place / "log")
    failure = failure_before_recovery(entry, log, number, arguments.seed)
    for recording, modes in recordings.items():
        where = rig.run / "recordings" / entry.name / recording
        if not modes:
            continue
        if rig.over:
            return
        if where != place and not (where / "complete").exists():
            try:
                image_of_recovery(rig, entry, place, log, again, failure)
            except stress.Failure as error:
                print(f"{again}: there is no recovery to record: {str(error)[:300]}", flush=True)
                # A server that does not recover is what all this is to find.
                if Table.key(asdict(failure)) not in table.done:
                    for _, row in rig.cut(entry, place, [failure]):
                        # Now it may; not each time.
                        if row["recovery_seconds"] and good(str(row["result"])):
                            allowed = "allowed: " if entry.may("no start", failure.mode) else ""
                            row |= {"result": f"{allowed}no start", "detail": str(error)[-1000:]}
                            (place / "needed").touch()
                        table.add(row)
                        say(row)
                continue
        recorded = Log(where / "log")
        if entry.rules and (entry.name, recording, ANY_MODE, ORDER) not in table.done:
            look_at_order(rig, entry, where, recorded, table)
        for mode, count in modes.items():
            cuts = choose(recorded, entry, recording, mode, arguments.seed, count, entry.near)
            cuts = [c for c in cuts if (entry.name, recording, mode, c.index) not in table.done]
            for _, row in rig.cut(entry, where, cuts):
                table.add(row)
                noted = row["result"] == "ok" and row["detail"]
                if not good(str(row["result"])) or noted or arguments.verbose:
                    say(row)
    if rig.over:
        return
    for where in (rig.run / "recordings" / again, place):
        if not (where / "needed").exists() and not arguments.keep:
            shutil.rmtree(where, ignore_errors=True)
    print(f"{name}: {len(table.done)} rounds: {dict(table.results)}", flush=True)


def cuts_of(entry: matrix.Entry, arguments: argparse.Namespace) -> dict[str, int]:
    """How many cuts of a recording there are in each mode."""
    cuts = dict.fromkeys(entry.modes, arguments.cuts)
    cuts |= dict.fromkeys(entry.measured, arguments.cuts // 4)
    return {m: count for m, count in cuts.items() if count and arguments.mode in ("", m)}


def look_at_order(rig: Rig, entry: matrix.Entry, place: Path, log: Log, table: Table) -> None:
    """A row for the whole recording, if it breaks a rule of order.py."""
    broken, looked = look(log, place, rules=entry.rules)
    print(f"{entry.name}/{place.name}: order of {counts(looked)}", flush=True)
    if not broken:
        return
    row: dict[str, object] = {
        "entry": entry.name,
        "preset": rig.preset,
        "recording": place.name,
        "mode": ANY_MODE,
        "index": ORDER,
        "at": broken[0][0],
        "of": len(log.records),
        "aim": "all",
        "policy": "any",
        "promised": 0,
        "lost": 0,
        "recovery_seconds": 0,
        "result": "order",
        "detail": f"{len(broken)} times: " + " | ".join(text for _, text in broken[:3]),
    }
    table.add(row)
    say(row)
    (place / "needed").touch()


def counts(looked: collections.Counter[str]) -> str:
    return ", ".join(f"{number} {what}" for what, number in looked.items())


def failure_before_recovery(entry: matrix.Entry, log: Log, number: int, seed: str) -> Cut:
    """At the end of a load, of what is kept and synced."""
    own = f"{seed} {entry.name}/{number}-recovery"
    end = next((mark for mark, line in log.marks() if line == "end"), len(log.records))
    at = random.Random(own).randint(end * 3 // 4, end)
    mode, sector = entry.modes[0], entry.sectors[0]
    return Cut(entry.name, str(number), mode, RECOVERY, at, "recovery", "files", sector, own)


def image_of_recovery(
    rig: Rig, entry: matrix.Entry, place: Path, log: Log, name: str, failure: Cut
) -> None:
    """Records the recovery from that failure."""
    disk = Disk(log, place / "base", rig.memory / "disk-recovery", failure.mode)
    image = rig.memory / "image-recovery"
    told = [line for number, line in log.marks() if number < failure.at]
    try:
        disk.advance(failure.at)
        disk.image(Picker(failure.seed, failure.policy, failure.sector), image)
        rig.record_recovery(entry, name, image, told)
    finally:
        shutil.rmtree(rig.memory / "disk-recovery", ignore_errors=True)
        shutil.rmtree(image, ignore_errors=True)


def mutants(arguments: argparse.Namespace) -> int:
    everything = [mutant.name for mutant in matrix.MUTANTS]
    # A name may have a comma.
    names = [arguments.matrix] if arguments.matrix in everything else arguments.matrix.split(",")
    chosen = [m for m in matrix.MUTANTS if not arguments.matrix or m.name in names]
    if unknown := set(names) - {""} - {m.name for m in chosen}:
        raise SystemExit(f"power cuts: no such mutant: {', '.join(sorted(unknown))}")
    folder = BUILD / arguments.run
    rig = Rig(folder, arguments.preset, arguments.workers, arguments.least)
    table = folder / "mutants.csv"
    try:
        done: dict[str, str] = {}
        if table.exists():
            with table.open(newline="") as opened:
                done = {row["mutant"]: row["found"] for row in csv.DictReader(opened)}
        missed = sum(done.get(mutant.name) == "NOT FOUND" for mutant in chosen)
        with table.open("a", newline="") as opened:
            writer = csv.writer(opened, lineterminator="\n")
            if not done:
                writer.writerow(["mutant", "entry", "mode", "cuts", "found", "detail"])
            for mutant in [m for m in chosen if m.name not in done]:
                tried, result = one_mutant(rig, mutant, arguments)
                found = result is not None
                missed += not found
                writer.writerow(
                    [
                        mutant.name,
                        mutant.entry,
                        mutant.mode,
                        tried,
                        result["result"] if result else "NOT FOUND",
                        str(result["detail"])[:300] if result else "",
                    ]
                )
                opened.flush()
                print(
                    f"mutant '{mutant.name}': "
                    + (
                        f"found by cut {tried}: {result['detail']}"[:300]
                        if result
                        else f"NOT FOUND by {tried} cuts"
                    ),
                    flush=True,
                )
    finally:
        shutil.rmtree(folder / "failures", ignore_errors=True)
        rig.close()
    return 1 if missed else 0


def one_mutant(
    rig: Rig, mutant: matrix.Mutant, arguments: argparse.Namespace
) -> tuple[int, dict[str, object] | None]:
    entry = next(e for e in matrix.ENTRIES if e.name == mutant.entry)
    name = f"mutants/{entry.name}" + (
        "-" + "".join(mutant.options).strip("-") if mutant.options else ""
    )
    place = rig.record(entry, name, arguments.seconds, arguments.seed, mutant.options)
    log = Log(place / "log")
    tried = 0
    cuts = choose(
        log,
        entry,
        name,
        mutant.mode,
        f"{arguments.seed} {mutant.name}",
        arguments.cuts,
        mutant.near,
    )
    # In parts, so that not all of a log is walked through for one that is found soon.
    random.Random(arguments.seed).shuffle(cuts)
    for begin in range(0, len(cuts), 6):
        part = sorted(cuts[begin : begin + 6], key=lambda cut: cut.at)
        for cut, row in rig.cut(entry, place, part, mutant.lies):
            tried += 1
            if blamed(str(row["result"])):
                # Without the lie the same cut must do no harm.
                (_, control), *_ = rig.cut(entry, place, [cut])
                if mutant.options or not blamed(str(control["result"])):
                    return tried, row
    return tried, None


def again(arguments: argparse.Namespace) -> int:
    """One round, and where its files are left."""
    told = json.loads((Path(arguments.failure) / "round.json").read_text())
    cut = Cut(**told["cut"])
    entry = next(e for e in matrix.ENTRIES if e.name == cut.entry)
    rig = Rig(BUILD / arguments.run, str(told["row"]["preset"]), 1)
    try:
        for _, row in rig.cut(entry, Path(told["recording"]), [cut]):
            say(row)
            return 0 if good(str(row["result"])) else 1
    finally:
        rig.close()
    return 1


def order(arguments: argparse.Namespace) -> int:
    """The order of one recording, as it is, or with the syncs of a mutant left out."""
    place = Path(arguments.failure or "")
    if not (place / "log").is_file():
        raise SystemExit(f"power cuts: order: '{place}' is not the folder of a recording")
    lies = {mutant.name: mutant.lies for mutant in matrix.MUTANTS} | {"": ()}
    if arguments.matrix not in lies:
        raise SystemExit(f"power cuts: no such mutant: {arguments.matrix}")
    log = Log(place / "log")
    broken, looked = look(log, place, lies[arguments.matrix])
    rules = collections.Counter(text.partition(":")[0] for _, text in broken)
    print(f"{len(log.records)} records, {counts(looked)}: broken: {counts(rules) or 'none'}")
    for number, text in broken[:10]:
        print(f"{number}: {text}")
    return 1 if broken else 0


def table(arguments: argparse.Namespace) -> int:
    """Rounds by settings and mode, with what was found in each."""
    rows: list[dict[str, str]] = []
    for run in arguments.run.split(","):
        with (BUILD / run / "rounds.csv").open(newline="") as opened:
            rows += csv.DictReader(opened)
    groups: dict[tuple[str, str], list[dict[str, str]]] = collections.defaultdict(list)
    for row in rows:
        groups[row["entry"], row["mode"]].append(row)
    names = [entry.name for entry in matrix.ENTRIES]
    print("| settings | mode | rounds | promised | lost | found |")
    print("|---|---|---|---|---|---|")
    for (entry, mode), own in sorted(groups.items(), key=lambda g: (names.index(g[0][0]), g[0][1])):
        results = collections.Counter(row["result"] for row in own)
        found = ", ".join(
            f"{n} {result}" for result, n in sorted(results.items()) if result != "ok"
        )
        # Where nothing started nothing was counted.
        promised = sum(int(row["promised"]) for row in own if float(row["recovery_seconds"]) > 0)
        lost = sum(int(row["lost"]) for row in own)
        print(f"| `{entry}` | {mode} | {len(own)} | {promised} | {lost} | {found or 'nothing'} |")
    print(f"\n{len(rows)} rounds")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("run", "mutants", "table", "again", "order"))
    parser.add_argument(
        "failure", nargs="?", help="again: the folder of the failure; order: of the recording"
    )
    parser.add_argument("--preset", default="debug")
    parser.add_argument(
        "--run", default="power-cuts", help="folder below build/powercut; table: several"
    )
    parser.add_argument("--matrix", default="", help="entries or mutants, separated by commas")
    parser.add_argument("--mode", default="", choices=("", *MODES))
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--cuts", type=int, default=24, help="of a recording in each mode")
    parser.add_argument("--seconds", type=float, default=8, help="that a load runs")
    parser.add_argument("--least", type=int, default=100, help="transactions of a load")
    parser.add_argument("--minutes", type=float, default=0, help="end after so long")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--workers", type=int, default=1 + (os.cpu_count() or 1))
    parser.add_argument("--keep", action="store_true", help="keep all recordings")
    parser.add_argument("--verbose", action="store_true", help="a line for each round")
    arguments = parser.parse_args()
    assert set(WEIGHTS) == set(POLICIES)
    BUILD.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    actions = {"run": run, "mutants": mutants, "table": table, "again": again, "order": order}
    return actions[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
