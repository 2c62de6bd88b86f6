#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Cuts the power of servers and looks at what they recover; see docs/design/power_cuts.md.

A server runs a load on a file system that records (recorder.cc). From the log of one
recording many failures are made (model.py), each at another place of the log, and
with another part of what was not synced. A server recovers from each; then its
rows, tables, logs and files are compared with what clients had been told (load.py).

    rig.py run      rounds over a matrix, into a table; goes on where it stopped
    rig.py mutants  the same with syncs left out: each has to be found
    rig.py table    what a table of rounds says, in Markdown
    rig.py again    one round once more, from the folder that a failure has left
"""

from __future__ import annotations

import argparse
import bisect
import collections
import concurrent.futures
import contextlib
import csv
import fcntl
import itertools
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "stress"))

import load
import matrix
import pymysql
import server as stress
from model import MODES, POLICIES, Disk, Picker
from oplog import Kind, Log
from recording import Recording

ROOT = stress.ROOT
#: make test runs its servers as another user, which has a folder of its own.
BUILD = Path(os.environ.get("POWERCUT_FOLDER") or ROOT / "build" / "powercut")

#: What recordings, images and data directories may take in memory.
MEMORY = 4 << 30

#: More of what is likely to hurt.
WEIGHTS = {"lost": 4, "kept": 1, "names": 2, "data": 2, "files": 4, "torn": 5, "last": 2}

FILES = [
    ("doublewrite", r"\.b?dblwr$"),
    ("redo", r"/#innodb_redo/"),
    ("undo", r"/undo_\d+$|\.ibu$"),
    ("system", r"/ibdata\d+$"),
    ("dictionary", r"/mysql\.ibd$"),
    ("temporary", r"/#innodb_temp/|/ibtmp"),
    ("table", r"\.ibd$"),
    ("purge list", r"~purge~"),
    ("binlog index", r"/binlog\.(index|~rec~)"),
    ("binlog", r"/binlog\.\d+$|#purged_"),
    ("keyring", r"^keyring"),
]

OPERATIONS = {
    Kind.WRITE: "write",
    Kind.SYNC: "sync",
    Kind.SYNCED: "synced",
    Kind.TRUNCATE: "resize",
    Kind.FALLOCATE: "resize",
    Kind.MKNOD: "create",
    Kind.LINK: "link",
    Kind.UNLINK: "unlink",
    Kind.RENAME: "rename",
    Kind.MARK: "acknowledge",
}


COPYING = threading.Lock()


class PowerServer(stress.Server):
    """A server on data that it is given, which gets no longer than it should need."""

    def __init__(self, preset: str, home: Path, files: Path, options: list[str]) -> None:
        self.gave_up = False
        self.is_stock = preset.startswith("stock")
        self.objects = ROOT / "build" / preset / "obj"
        super().__init__(preset, home, options)
        self.data = files / "data"
        self._command = [
            f"--datadir={self.data}" if word.startswith("--datadir=") else word
            for word in self._command
        ]
        if self.can_encrypt:
            (home / "plugins" / "component_keyring_file.cnf").write_text(
                json.dumps({"path": str(files / "keyring"), "read_only": False}), encoding="ascii"
            )

    def _provide(self, binary: Path) -> None:
        """A link, or one to a copy: a user may link only to files of its own."""
        with COPYING:
            try:
                os.link(binary, self.binary)
            except OSError:
                copy = self.home.parent / "mysqld"
                if not copy.exists():
                    shutil.copy2(binary, copy)
                os.link(copy, self.binary)

    def start_within(self, seconds: float) -> float:
        self.gave_up = False
        timer = threading.Timer(seconds, self._give_up)
        timer.start()
        try:
            return self.start()
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self.gave_up = True
        if self._process is not None:
            self._process.kill()

    def end(self) -> None:
        if self.running:
            self.kill()


@dataclass
class Cut:
    """A failure, enough to make it again from its recording."""

    entry: str
    recording: str
    mode: str
    index: int
    at: int
    aim: str
    policy: str
    sector: int
    seed: str


COLUMNS = [
    "entry",
    "preset",
    "recording",
    "mode",
    "index",
    "at",
    "of",
    "aim",
    "policy",
    "sector",
    "seed",
    "promised",
    "lost",
    "files_touched",
    "writes",
    "bytes_pending",
    "bytes_kept",
    "namings",
    "namings_kept",
    "recovery_seconds",
    "seconds",
    "result",
    "detail",
]


def classify(path: str) -> str:
    for name, pattern in FILES:
        if re.search(pattern, path):
            return name
    return "other"


def aims(log: Log) -> dict[str, list[int]]:
    """Places of the log by what is done there to which kind of file."""
    seen: dict[int, tuple[int, str]] = {}
    kinds: dict[int, str] = {}
    directories: set[int] = set()

    def kind_of(ino: int) -> str:
        if ino in directories:
            return "directory"
        if ino not in kinds:
            parts = []
            at = ino
            while at in seen:
                at, name = seen[at]
                parts.append(name)
            kinds[ino] = classify("/".join(reversed(parts)))
        return kinds[ino]

    places: dict[str, list[int]] = collections.defaultdict(list)
    for record in log.records:
        if record.kind in (Kind.BASE, Kind.MKNOD):
            seen[record.ino] = (record.a, log.name(record).split("\0")[0])
            if record.b & 0o170000 == 0o040000:
                directories.add(record.ino)
            kinds.pop(record.ino, None)
        elif record.kind == Kind.RENAME:
            seen[record.ino] = (record.b, log.names(record)[1])
            kinds.pop(record.ino, None)
        operation = OPERATIONS.get(Kind(record.kind))
        if operation == "acknowledge":
            places[operation].append(record.number)
        elif operation is not None:
            kind = kind_of(record.ino)
            if kind != "temporary":
                places[f"{operation} {kind}"].append(record.number)
    return dict(places)


def choose(
    log: Log, entry: matrix.Entry, recording: str, mode: str, seed: str, count: int, near: str = ""
) -> list[Cut]:
    """Cuts of a recording, in the order of their places; two of three near some aims."""
    places = aims(log)
    close = sorted(aim for aim in places if near and re.search(near, aim))
    begin = next((r.number for r in log.records if r.kind != Kind.BASE), len(log.records))
    end = len(log.records)
    chosen = []
    for index in range(count):
        own = f"{seed} {entry.name} {recording} {mode} {index}"
        dice = random.Random(own)
        if close and dice.random() < 0.7:
            aim = dice.choice(close)
            at = dice.choice(places[aim]) + dice.choice((0, 1, 1, 2, dice.randint(2, 12)))
        elif dice.random() < 0.3 or not places:
            aim, at = "random", dice.randint(begin, end)
        else:
            aim = dice.choice(sorted(places))
            # Before it, within it, and a little after.
            at = dice.choice(places[aim]) + dice.choice((0, 1, 1, 2, dice.randint(2, 12)))
        chosen.append(
            Cut(
                entry.name,
                recording,
                mode,
                index,
                min(at, end),
                aim,
                dice.choices(list(WEIGHTS), list(WEIGHTS.values()))[0],
                dice.choice(entry.sectors),
                own,
            )
        )
    return sorted(chosen, key=lambda cut: cut.at)


class Rig:
    """Homes of servers, recordings, and the table of rounds."""

    def __init__(
        self, run: Path, preset: str, workers: int, least: int = 0, minutes: float = 0
    ) -> None:
        self.least = least
        self._until = time.monotonic() + minutes * 60 if minutes else 0.0
        self.run = run
        self.preset = preset
        self.workers = workers
        run.mkdir(parents=True, exist_ok=True)
        memory = Path("/dev/shm")
        if not memory.is_dir() or shutil.disk_usage(memory).free < MEMORY:
            memory = run  # as in a container, which has little
        self.memory = Path(tempfile.mkdtemp(prefix="powercut-", dir=memory))
        self.homes = Path(tempfile.mkdtemp(prefix="homes-", dir=self.memory))
        self._lock = threading.Lock()
        self._count = 0

    def close(self) -> None:
        shutil.rmtree(self.memory, ignore_errors=True)

    @property
    def over(self) -> bool:
        """Is no other round to begin?"""
        return bool(self._until) and time.monotonic() > self._until

    def home(self) -> Path:
        """A folder for one server's programs, log and socket."""
        with self._lock:
            self._count += 1
            home = self.homes / str(self._count)
        home.mkdir()
        return home

    # A data directory to begin with

    def base(self, entry: matrix.Entry) -> Path:
        binary = ROOT / "build" / self.preset / "obj" / "runtime_output_directory" / "mysqld"
        if not binary.is_file():
            raise SystemExit(
                f"power cuts: build/{self.preset} holds no server; 'make {self.preset}'"
            )
        key = f"{self.preset}-{'-'.join(sorted(entry.setting.tables.values())) or 'tables'}"
        key += "-wide" if entry.setting.wide else ""
        key = re.sub(r"[^A-Za-z0-9=-]+", "_", key) + f"-{int(binary.stat().st_mtime)}"
        base = BUILD / "bases" / key
        base.parent.mkdir(parents=True, exist_ok=True)
        with (base.parent / "lock").open("w") as lock:  # several runs may want it
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not base.is_dir():
                self._make_base(entry, base)
        return base

    def _make_base(self, entry: matrix.Entry, base: Path) -> None:
        files = self.memory / "base"
        files.mkdir()
        home = self.home()
        server = PowerServer(self.preset, home, files, [*matrix.COMMON])
        with contextlib.closing(contextlib.ExitStack()) as stack:
            stack.callback(shutil.rmtree, home, True)
            stack.callback(shutil.rmtree, files, True)
            stack.callback(server.end)
            server.initialize()
            server.start_within(1800)
            with server.connect(None) as connection:
                load.Load.prepare(connection, entry.setting)
            if server.stop() != 0:
                raise SystemExit("power cuts: a server with new tables does not stop")
            partly = base.with_name(base.name + ".part")
            shutil.rmtree(partly, ignore_errors=True)
            shutil.copytree(files, partly, symlinks=True, ignore=not_a_socket)
            partly.rename(base)

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
                    running = load.Load(
                        server.connect, recording.mark, entry.setting, f"{seed} {name}"
                    )
                    running.run(seconds, self.least)
                    if running.errors:
                        raise stress.Failure(f"{name}: {running.errors[0]}\n{server.last_words()}")
                    recording.mark("end\n")
                    if dice.random() < 0.5:
                        server.stop()
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
                    time.sleep(1)
                finally:
                    server.end()
            shutil.move(recording.log, place / "log")
            (place / "complete").touch()
        finally:
            shutil.rmtree(work, ignore_errors=True)
            shutil.rmtree(home, ignore_errors=True)
        return place

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
                    if self.over:
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
        promised = load.Promised.read(told)
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
                "detail": " | ".join(f"{kind}: {text}" for kind, text in found.problems)[:1000],
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


def not_a_socket(folder: str, names: list[str]) -> list[str]:
    return [n for n in names if not (Path(folder, n).is_file() or Path(folder, n).is_dir())]


def recover(
    server: PowerServer, promised: load.Promised, setting: load.Setting, *, all_pages: bool
) -> tuple[load.Findings, float]:
    """Starts, checks, writes, stops, and checks the pages."""
    found = load.Findings()
    recovery = 0.0
    try:
        try:
            recovery = start(server)
        except stress.Failure:
            errors = errors_of(server)
            kind = "no start"
            if server.is_stock and trx_sys_is_torn(server, errors):
                kind = "known: page of TRX_SYS"
            elif server.is_stock and first_page_is_torn(server, errors):
                kind = "known: first page"
            elif server.is_stock and any("check if keyring is loaded" in error for error in errors):
                kind = "known: keyring"
            found.add(kind, " / ".join(line[28:220] for line in errors[:3]))
            return found, recovery
        try:
            with server.connect(None) as connection:
                found = load.check(connection, server.data, promised, setting)
                with connection.cursor() as cursor:
                    cursor.execute("CREATE TABLE pc.afterwards (id INT PRIMARY KEY, v INT)")
                    cursor.execute("INSERT INTO pc.afterwards VALUES (1, 1)")
                    cursor.execute("DROP TABLE pc.afterwards")
        except pymysql.Error as error:
            kind = "crash" if error.args and error.args[0] in (2006, 2013) else "refused"
            if server.is_stock and "master key from keyring" in str(error):
                kind = "known: keyring"
            found.add(kind, f"{error}")
        if server.running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                server.stop()
        if server.running:
            found.add("crash", "does not stop")
        elif not found.problems:
            check_pages(server, found, all_pages=all_pages)
        for line in server.complaints()[:2]:
            found.add("crash", line[:300])
    finally:
        server.end()
    return found, recovery


def errors_of(server: PowerServer) -> list[str]:
    if not server.log.exists():
        return []
    with server.log.open(errors="replace") as lines:
        return [line.rstrip() for line in lines if "[ERROR]" in line or "Assertion" in line]


def trx_sys_is_torn(server: PowerServer, errors: list[str]) -> bool:
    """Stock reads that page before it looks into the doublewrite files, see the note."""
    return any("space=0, page number=5]" in error for error in errors) and has_copy(server, 0, 5)


def first_page_is_torn(server: PowerServer, errors: list[str]) -> bool:
    """Upstream looks for its copy if another page of the file says whose it is, see the note."""
    spaces = re.findall(r"Tablespace '(\d+)' mentioned in the redo log is corr", "\n".join(errors))
    return any(has_copy(server, int(space), 0) for space in spaces)


def has_copy(server: PowerServer, space: int, page_number: int) -> bool:
    """Have the doublewrite files a whole copy of a page?"""
    for file in server.data.glob("#ib_*.dblwr"):
        with file.open("rb") as opened:
            while page := opened.read(16384):
                where = int.from_bytes(page[34:38]), int.from_bytes(page[4:8])
                if where == (space, page_number) and page[20:24] == page[-4:]:
                    return True
    return False


def start(server: PowerServer) -> float:
    """A debug server that finds a page corrupt can hang; a busy machine takes its time."""
    busy = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    try:
        return server.start_within(90 * busy)
    except stress.Failure:
        if not server.gave_up or errors_of(server):
            raise
        return server.start_within(1800)


def check_pages(server: PowerServer, found: load.Findings, *, all_pages: bool) -> None:
    """Those of tables, and of the large tablespaces of the server if all_pages."""
    innochecksum = server.objects / "runtime_output_directory" / "innochecksum"
    files = [*server.data.glob("pc/*.ibd"), *server.data.glob("pcddl/*.ibd")]
    if all_pages:
        files += [
            *server.data.glob("undo_*"),
            *server.data.glob("*.ib[du]"),
            server.data / "ibdata1",
        ]
    for file in files:
        if file.stat().st_size == 0 or encrypted(file):
            continue
        done = subprocess.run([innochecksum, file], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            found.add("pages", f"innochecksum {file.name}: {(done.stderr or done.stdout)[:200]}")


def encrypted(file: Path) -> bool:
    """Is the tablespace? innochecksum has no keys."""
    with file.open("rb") as opened:
        opened.seek(54)
        return bool(int.from_bytes(opened.read(4), "big") & (1 << 13))


class Table:
    """The rounds so far."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.done: set[tuple[str, str, str, int]] = set()
        self.results: collections.Counter[str] = collections.Counter()
        if file.exists():
            with file.open(newline="") as opened:
                for row in csv.DictReader(opened):
                    self.done.add(self.key(row))
                    self.results[row["result"]] += 1
        else:
            with file.open("w", newline="") as opened:
                csv.writer(opened, lineterminator="\n").writerow(COLUMNS)

    @staticmethod
    def key(row: dict[str, object]) -> tuple[str, str, str, int]:
        return str(row["entry"]), str(row["recording"]), str(row["mode"]), int(str(row["index"]))

    def add(self, row: dict[str, object]) -> None:
        with self._file.open("a", newline="") as opened:
            csv.DictWriter(opened, COLUMNS, lineterminator="\n").writerow(row)
        self.done.add(self.key(row))
        self.results[str(row["result"])] += 1


def good(result: str) -> bool:
    return result == "ok" or result.startswith(("allowed", "known"))


def blamed(result: str) -> bool:
    """Is a mutant found? Also by what is allowed."""
    return result != "ok" and not result.startswith("known")


def say(row: dict[str, object]) -> None:
    print(
        f"{row['entry']}/{row['recording']} {row['mode']} {row['index']}: at {row['at']} of "
        f"{row['of']} ({row['aim']}), {row['policy']}: {row['result']}"
        + (f": {row['detail']}" if row["detail"] else ""),
        flush=True,
    )


def run(arguments: argparse.Namespace) -> int:
    names = arguments.matrix.split(",") if arguments.matrix else matrix.DEFAULT
    entries = [entry for entry in matrix.ENTRIES if entry.name in names]
    if unknown := set(names) - {entry.name for entry in entries}:
        raise SystemExit(f"power cuts: no such entry of the matrix: {', '.join(sorted(unknown))}")
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
    return 1 if any(not good(result) for result in table.results) else 0


def processor_seconds() -> float:
    """Of this program and all servers that have ended."""
    own, children = (
        resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def one_recording(
    rig: Rig, entry: matrix.Entry, number: int, arguments: argparse.Namespace, table: Table
) -> None:
    name = f"{entry.name}/{number}"
    again = f"{name}-recovery"
    shares = {mode: arguments.cuts for mode in entry.modes}
    shares |= {mode: arguments.cuts // 4 for mode in entry.measured}
    if arguments.mode:
        shares = {mode: count for mode, count in shares.items() if mode == arguments.mode}
    parts = [
        (recording, mode, count // part)
        for recording, part in ((str(number), 1), (f"{number}-recovery", 4))
        for mode, count in shares.items()
    ]
    wanted = {
        (entry.name, recording, mode, index)
        for recording, mode, count in parts
        for index in range(count)
    }
    if wanted <= table.done:
        return
    print(f"{name}: recording", flush=True)
    place = rig.record(entry, name, arguments.seconds, arguments.seed)
    log = Log(place / "log")
    for recording, mode, count in parts:
        where = rig.run / "recordings" / entry.name / recording
        if count == 0:
            continue
        if rig.over:
            return
        if where != place and not (where / "complete").exists():
            try:
                image_of_recovery(rig, entry, place, log, again, arguments.seed)
            except stress.Failure as error:
                print(f"{again}: there is no recovery to record: {str(error)[:300]}", flush=True)
                continue
        cuts = choose(Log(where / "log"), entry, recording, mode, arguments.seed, count)
        cuts = [c for c in cuts if (entry.name, recording, mode, c.index) not in table.done]
        for _, row in rig.cut(entry, where, cuts):
            table.add(row)
            if not good(str(row["result"])) or arguments.verbose:
                say(row)
    if rig.over:
        return
    for where in (rig.run / "recordings" / again, place):
        if not (where / "needed").exists() and not arguments.keep:
            shutil.rmtree(where, ignore_errors=True)
    print(f"{name}: {len(table.done)} rounds: {dict(table.results)}", flush=True)


def image_of_recovery(
    rig: Rig, entry: matrix.Entry, place: Path, log: Log, name: str, seed: str
) -> None:
    """Records the recovery from a failure at the end of a load, of what is kept and synced."""
    mode = entry.modes[0]
    dice = random.Random(f"{seed} {name}")
    marks = list(log.marks())
    end = next((number for number, line in marks if line == "end"), len(log.records))
    at = dice.randint(end * 3 // 4, end)
    disk = Disk(log, place / "base", rig.memory / "disk-recovery", mode)
    image = rig.memory / "image-recovery"
    try:
        disk.advance(at)
        disk.image(Picker(f"{seed} {name}", "files", entry.sectors[0]), image)
        rig.record_recovery(entry, name, image, [line for number, line in marks if number < at])
    finally:
        shutil.rmtree(rig.memory / "disk-recovery", ignore_errors=True)
        shutil.rmtree(image, ignore_errors=True)


def mutants(arguments: argparse.Namespace) -> int:
    folder = BUILD / arguments.run
    rig = Rig(folder, arguments.preset, arguments.workers, arguments.least)
    chosen = [
        m for m in matrix.MUTANTS if not arguments.matrix or m.name in arguments.matrix.split(",")
    ]
    table = folder / "mutants.csv"
    missed = 0
    try:
        done: set[str] = set()
        if table.exists():
            with table.open(newline="") as opened:
                done = {row["mutant"] for row in csv.DictReader(opened)}
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
    parser.add_argument("what", choices=("run", "mutants", "table", "again"))
    parser.add_argument("failure", nargs="?", help="again: the folder of the failure")
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
    actions = {"run": run, "mutants": mutants, "table": table, "again": again}
    return actions[arguments.what](arguments)


if __name__ == "__main__":
    sys.exit(main())
