#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Makes the profiles of release builds, and facts about them.

  train.py --compiler   compiler.profdata.xz, by which clang compiles: a server of the preset
                        profiling, into which clang has put counters, runs the loads below
  train.py              mysqld.yaml.xz, by which optimise.sh lays out what was compiled so:
                        the linked server of a preset gets counters (llvm-bolt -instrument)

Each phase has a data directory of its own, which is filled without being counted. What is judged
later must not be trained on: sysbench's oltp_read_write, bulk loads, and nine of the 13 queries of
the Star Schema Benchmark (docs/design/optimised_build.md).
"""

from __future__ import annotations

import argparse
import contextlib
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))

from harness import places, settings, sysbench
from harness.errors import BenchError
from harness.server import Server
from harness.server_definition import ServerDefinition
from ssb import queries
from ssb.generate import ensure
from ssb.load import DATABASE as SSB
from ssb.load import load as load_ssb
from ssb.scale import Scale

COMMITTED = Path(__file__).resolve().parent
PROFILE = "mysqld.yaml.xz"
COMPILER_PROFILE = "compiler.profdata.xz"
FACTS = "facts"
LARGEST = 1_000_000  #: bytes of a profile: it is committed
#: A branch that was taken fewer times in all loads together does not count: most of them are of the
#: start of servers. More, if the profile is too large otherwise.
LEAST = 64
#: What goes into a server: the parts of superbuild/revision.sh.
PARTS = ("patches", "upstream", "plugin", "sql", "storage")

CACHED_ROWS = 300_000
LARGE_ROWS = 1_000_000
SSB_SCALE = "0.1"
SSB_TRAINED = ("q1.1", "q2.1", "q3.1", "q4.1")
PREPARED, TEXT = "--db-ps-mode=auto", "--db-ps-mode=disable"

#: A user's server: binary log and performance schema on.
USUAL = {"binary_log": "on", "gtid": "on", "performance_schema": "on", "buffer_pool_size": "512M"}
LARGE = {"buffer_pool_size": "32M", "buffer_pool_instances": 1, "lru_scan_depth": 256}


class Trainer:
    def __init__(self, preset: str, seconds: int) -> None:
        self.objects = ROOT / "build" / preset / "obj"
        self.work = ROOT / "build" / preset / "profile"
        self.seconds = seconds
        programs = self.objects / "runtime_output_directory"
        # The one without .linked is laid out already, if this preset has it so.
        linked = programs / "mysqld.linked"
        self.linked = linked if linked.is_file() else programs / "mysqld"
        if not self.linked.is_file():
            raise BenchError(f"there is no server {self.linked}; 'make {preset}' builds it")
        self.clang = clang_of(self.linked)
        self.common = settings.load(places.SETTINGS, quick=True)
        self.counting = self.work / "mysqld.counting"
        self.counts = self.work / "counts"

    def server(self, binary: Path, phase: str) -> Server:
        plugins = self.objects / "plugin_output_directory"
        definition = ServerDefinition(
            name=phase,
            title=phase,
            mysqld=binary,
            basedir=self.objects,
            # In share, or in share/mysql
            messages=next(self.objects.glob("share/**/english")).parent,
            plugins=plugins,
            version="",
            switches=("plugin_load_add=lru_stats.so",) if self._is_sluice else (),
        )
        return Server(definition, self.work / "data" / phase, self.common)

    @property
    def _is_sluice(self) -> bool:
        return (self.objects / "plugin_output_directory" / "lru_stats.so").is_file()

    # The phases

    def train(self) -> Path:
        """The profile."""
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)
        self._put_counters_in()
        try:
            for name, phase in PHASES.items():
                started = time.monotonic()
                phase(self)
                _say(f"{name}: {time.monotonic() - started:.0f} s")
            return self._convert()
        finally:
            shutil.rmtree(self.work / "data", ignore_errors=True)

    def _put_counters_in(self) -> None:
        self._bolt(
            "counters",
            *("-o", str(self.counting), "-instrument", "-instrumentation-file-append-pid"),
            f"-instrumentation-file={self.counts}",
            # Relative to where LLVM is installed, whatever its help says.
            f"-runtime-instrumentation-lib=llvm-{self.clang}/lib/libbolt_rt_instr.a",
        )

    def filled(self, phase: str, changed: Mapping[str, settings.Value], fill: Filling) -> Server:
        """The counting server on a data directory that the other one has filled; not started."""
        plain = self.server(self.linked, phase)
        plain.create()
        with up(plain, {**changed, "binary_log": "off", "gtid": "off"}):
            fill(plain)
        return self.server(self.counting, phase)

    def sysbench(
        self, server: Server, rows: int, clients: int, loads: Sequence[Sequence[str]]
    ) -> None:
        for script, *options in loads:
            load = sysbench.Load(script, 1, rows, tuple(options))
            sysbench.run(server, load, clients, self.seconds)

    # The profile

    def _counted(self, pattern: str) -> list[Path]:
        counted = sorted(self.work.glob(pattern))
        if len(counted) < len(PHASES):
            raise BenchError(f"only {len(counted)} runs left counts, of {len(PHASES)} phases")
        return counted

    def _convert(self) -> Path:
        counted = self._counted("counts.*.fdata")
        merged = self.work / "mysqld.fdata"
        with merged.open("w") as file:
            subprocess.run(
                [f"merge-fdata-{self.clang}", *map(str, counted)], stdout=file, check=True
            )
        for file in (*counted, self.counting):
            file.unlink()
        profile = self.work / PROFILE
        text = profile.with_suffix("")
        lines = merged.read_text().splitlines(keepends=True)
        least = LEAST
        while True:
            merged.write_text("".join(line for line in lines if _count(line) >= least))
            self._bolt("profile", f"-data={merged}", "-w", str(text), "-o", os.devnull)
            profile.write_bytes(lzma.compress(text.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
            if profile.stat().st_size <= LARGEST:
                break
            _say(
                f"{profile.stat().st_size} bytes are too many: without what ran less than {2 * least} times"
            )
            least *= 2
        merged.unlink()
        text.unlink()
        facts = {
            "DATE": f"{datetime.now(UTC):%Y-%m-%d}",
            "REVISION": revision(),
            "MACHINE": platform.machine(),
            "CLANG": str(self.clang),
            "LOADS": f"'{', '.join(PHASES)}'",
            "SECONDS": f"{self.seconds}  # of each load",
            "LEAST": f"{least}  # times that a branch was taken, or it does not count",
        }
        assignments = [f"PROFILE_{name}={value}\n" for name, value in facts.items()]
        head = "# What mysqld.yaml.xz was trained on. Machine and clang are those of compiler.profdata.xz, too.\n"
        (self.work / FACTS).write_text(head + "".join(assignments))
        return profile

    def _bolt(self, log: str, *options: str) -> None:
        path = self.work / f"{log}.log"
        with path.open("w") as file:
            _run(f"llvm-bolt-{self.clang}", self.linked, *options, into=file)


class CompilerTrainer(Trainer):
    """The counters are clang's own (-fprofile-generate), in a server of the preset profiling."""

    def __init__(self, seconds: int) -> None:
        super().__init__("profiling", seconds)
        self.counting = self.linked

    def _put_counters_in(self) -> None:
        os.environ[WHERE_COUNTS_GO] = str(self.work / "counts-%p.profraw")

    def filled(self, phase: str, changed: Mapping[str, settings.Value], fill: Filling) -> Server:
        counts = os.environ.pop(WHERE_COUNTS_GO)
        os.environ[WHERE_COUNTS_GO] = str(self.work / "filling.profraw")
        try:
            return super().filled(phase, changed, fill)
        finally:
            os.environ[WHERE_COUNTS_GO] = counts

    def _convert(self) -> Path:
        counted = self._counted("counts-*.profraw")
        merged = self.work / COMPILER_PROFILE.removesuffix(".xz")
        # Sparse: what never ran is compiled as without a profile, and not for size.
        _run(f"llvm-profdata-{self.clang}", "merge", "--sparse", "-o", merged, *counted)
        for file in (*counted, self.work / "filling.profraw"):
            file.unlink(missing_ok=True)
        profile = self.work / COMPILER_PROFILE
        profile.write_bytes(lzma.compress(merged.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
        merged.unlink()
        if profile.stat().st_size > LARGEST:
            raise BenchError(f"{profile} has {profile.stat().st_size} bytes, more than {LARGEST}")
        return profile


#: clang's name for it
WHERE_COUNTS_GO = "LLVM_PROFILE_FILE"


@contextlib.contextmanager
def up(
    server: Server, changed: Mapping[str, settings.Value], extra: Sequence[str] = ()
) -> Iterator[None]:
    """The server runs. It writes what it has counted at its end."""
    server.start(changed, extra=extra)
    try:
        yield
    finally:
        server.stop()


def _count(line: str) -> int:
    """Of a branch: a line ends in how often it was mispredicted, and taken."""
    return int(line.rsplit(" ", 1)[1])


Filling = Callable[[Server], None]


def _table(rows: int, *options: str) -> Filling:
    return lambda server: sysbench.prepare(
        server, sysbench.Load("oltp_read_only", 1, rows, tuple(options))
    )


def cached(trainer: Trainer) -> None:
    """Reads and writes of cached rows, prepared and as text, with the binary log."""
    server = trainer.filled("cached", USUAL, _table(CACHED_ROWS))
    replica = trainer.work / "data" / "replica"
    shutil.copytree(server.home, replica)
    with up(server, USUAL):
        trainer.sysbench(
            server,
            CACHED_ROWS,
            8,
            [
                ("oltp_point_select", PREPARED),
                ("oltp_point_select", TEXT),
                ("oltp_read_only", PREPARED),
                ("oltp_read_only", TEXT),
                ("select_random_points", PREPARED),
                ("select_random_ranges", PREPARED),
                ("oltp_update_index", PREPARED),
                ("oltp_update_index", TEXT),
                ("oltp_update_non_index", PREPARED),
                ("oltp_update_non_index", TEXT),
                ("oltp_insert", PREPARED),
                ("oltp_insert", TEXT),
                ("oltp_delete", PREPARED),
                ("oltp_write_only", PREPARED),
                ("oltp_write_only", TEXT),
            ],
        )


def cached_without(trainer: Trainer) -> None:
    """The same shorter, with neither binary log nor performance schema."""
    rest = {"buffer_pool_size": "512M"}
    server = trainer.filled("cached-without", rest, _table(CACHED_ROWS))
    with up(server, rest):
        trainer.sysbench(
            server,
            CACHED_ROWS,
            8,
            [
                ("oltp_point_select", PREPARED),
                ("oltp_read_only", PREPARED),
                ("oltp_update_non_index", PREPARED),
                ("oltp_update_index", TEXT),
            ],
        )


def larger_than_the_pool(trainer: Trainer) -> None:
    """Point selects and updates of rows on disk."""
    server = trainer.filled("large", LARGE, _table(LARGE_ROWS, "--create_secondary=off"))
    with up(server, LARGE):
        trainer.sysbench(
            server,
            LARGE_ROWS,
            16,
            [
                ("oltp_point_select", PREPARED),
                ("oltp_point_select", TEXT),
                ("oltp_update_non_index", PREPARED),
                ("oltp_update_non_index", TEXT),
            ],
        )


def applier(trainer: Trainer) -> None:
    """The binary logs of the cached phase, as relay logs of a server that has not run it."""
    source = trainer.server(trainer.counting, "cached")
    server = trainer.server(trainer.counting, "replica")
    relay = server.home / "relay"
    relay.mkdir()
    logs = sorted(source.binlog_directory.glob("binlog.[0-9]*"))
    names = []
    for number, log in enumerate(logs, 1):
        name = relay / f"relay.{number:06}"
        shutil.copy(log, name)
        names.append(f"{name}\n")
    (relay / "relay.index").write_text("".join(names))
    (server.data / "auto.cnf").unlink(missing_ok=True)
    extra = [
        f"--relay-log={relay / 'relay'}",
        "--skip-replica-start",
        "--relay-log-purge=OFF",
        "--server-id=2",
    ]
    with up(server, USUAL, extra):
        server.execute(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='nobody', RELAY_LOG_FILE='relay.000001', "
            "RELAY_LOG_POS=4",
            "START REPLICA SQL_THREAD",
        )
        # As long as other loads together, or to the end.
        deadline = time.monotonic() + 4 * trainer.seconds
        while time.monotonic() < deadline:
            time.sleep(1)
            (state,) = server.rows("SHOW REPLICA STATUS")
            if state["Replica_SQL_Running"] != "Yes":
                raise BenchError(f"the applier stopped: {state['Last_SQL_Error']}")
            if "has read all relay log" in state["Replica_SQL_Running_State"]:
                break


def joins(trainer: Trainer) -> None:
    """One query of each flight of the Star Schema Benchmark."""

    def fill(server: Server) -> None:
        data = ensure(Scale.parse(SSB_SCALE), places.WORK / f"ssb-{SSB_SCALE}")
        with server.connect(local_infile=True) as connection:
            load_ssb(connection, data)

    changed = {"buffer_pool_size": "512M", "performance_schema": "on"}
    server = trainer.filled("joins", changed, fill)
    with up(server, changed):
        until = time.monotonic() + 4 * trainer.seconds
        with server.connect(SSB) as connection, connection.cursor() as cursor:
            while time.monotonic() < until:
                for query in SSB_TRAINED:
                    cursor.execute(queries.sql(query))
                    cursor.fetchall()


DDL = """
CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL, v VARCHAR(100), d DATETIME, KEY (k))
INSERT INTO t (k, v, d) VALUES (1, 'one', NOW()), (2, 'two', NOW()), (3, 'three', NULL)
INSERT INTO t (k, v, d) SELECT a.k + b.k, CONCAT(a.v, b.v), b.d FROM t a JOIN t b
ALTER TABLE t ADD COLUMN extra INT DEFAULT 7
ALTER TABLE t ADD INDEX (v), ALGORITHM=INPLACE
ALTER TABLE t MODIFY v VARCHAR(200), ALGORITHM=COPY
ALTER TABLE t RENAME COLUMN extra TO more
CREATE TABLE child (id INT PRIMARY KEY, t INT, FOREIGN KEY (t) REFERENCES t (id) ON DELETE CASCADE)
INSERT INTO child SELECT id, id FROM t
CREATE VIEW w AS SELECT k, COUNT(*) AS n, MAX(d) AS latest FROM t GROUP BY k HAVING n > 0
SELECT * FROM w ORDER BY n DESC, k
CREATE TRIGGER b BEFORE UPDATE ON t FOR EACH ROW SET NEW.v = UPPER(NEW.v)
UPDATE t SET v = CONCAT(v, '!') WHERE k BETWEEN 2 AND 4
CREATE PROCEDURE p (n INT) BEGIN DECLARE i INT DEFAULT 0; WHILE i < n DO SET i = i + 1; UPDATE t SET k = k + 1 WHERE id = i; END WHILE; END
CALL p(20)
DELETE FROM t WHERE id = 2
ANALYZE TABLE t
SHOW CREATE TABLE t
SELECT table_name, table_rows FROM information_schema.tables WHERE table_schema = 'ddl'
SHOW TABLE STATUS
EXPLAIN SELECT * FROM t JOIN child ON child.t = t.id WHERE t.k > 1
DROP PROCEDURE p
DROP VIEW w
TRUNCATE TABLE child
DROP TABLE child
RENAME TABLE t TO u
OPTIMIZE TABLE u
DROP TABLE u
"""


def ddl(trainer: Trainer) -> None:
    """Tables, indexes, views, triggers and procedures, made, used, changed and dropped."""
    server = trainer.filled("ddl", USUAL, lambda server: server.execute("CREATE DATABASE ddl"))
    with up(server, USUAL):
        until = time.monotonic() + 2 * trainer.seconds
        statements = DDL.strip().splitlines()
        while time.monotonic() < until:
            # Each time a new connection.
            with server.connect("ddl") as connection, connection.cursor() as cursor:
                for statement in statements:
                    cursor.execute(statement)
                    cursor.fetchall()


#: In this order: the applier takes what the first one leaves.
PHASES: dict[str, Callable[[Trainer], None]] = {
    "cached reads and writes": cached,
    "replication applier": applier,
    "cached without logs": cached_without,
    "larger than the pool": larger_than_the_pool,
    "joins and aggregates": joins,
    "DDL": ddl,
}


def revision() -> str:
    """Of what goes into a server, as @@version_comment has it."""
    text = _output("git", "log", "-1", "--abbrev=12", "--format=%h", "--", *PARTS).strip()
    changed = _output("git", "status", "--porcelain", "--", *PARTS)
    return (text or "unknown") + ("-modified" if changed else "")


def age() -> str:
    """How old the committed profile is."""
    try:
        text = (COMMITTED / FACTS).read_text()
    except FileNotFoundError:
        return "no profile is committed"
    facts = dict(re.findall(r"^PROFILE_(\w+)=(.*)$", text, re.MULTILINE))
    days = (datetime.now(UTC).date() - datetime.fromisoformat(facts["DATE"]).date()).days
    since = f"{facts['REVISION'].removesuffix('-modified')}..HEAD"
    commits = _output("git", "rev-list", "--count", since, "--", *PARTS).strip() or "?"
    return (
        f"the committed profile is {days} days old, of revision {facts['REVISION']}; "
        f"{commits} commits since have changed what goes into a server"
    )


def clang_of(server: Path) -> int:
    comment = _output("readelf", "--string-dump=.comment", str(server))
    match = re.search(r"clang version (\d+)\.", comment)
    if not match:
        raise BenchError(f"{server} was not compiled by clang; there is no other way yet")
    return int(match[1])


def _run(program: str, *options: object, into: IO[str] | None = None) -> None:
    try:
        done = subprocess.run([program, *map(str, options)], stdout=into, stderr=into, check=False)
    except FileNotFoundError as error:
        raise BenchError(
            f"{error.filename} is missing: 'make profile' installs it, with COMPILER=1 llvm-profdata, too"
        ) from error
    if done.returncode:
        raise BenchError(f"{program} failed" + (f", and {into.name} says why" if into else ""))


def _output(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout


def _say(text: str) -> None:
    print(f"profile: {text}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--preset", default="release", help="release's and package's are committed")
    parser.add_argument("--compiler", action="store_true", help="train what clang compiles by")
    parser.add_argument("--seconds", type=int, default=15, help="of each load")
    options = parser.parse_args()
    _say(age())
    try:
        trainer = (
            CompilerTrainer(options.seconds)
            if options.compiler
            else Trainer(options.preset, options.seconds)
        )
        profile = trainer.train()
    except BenchError as error:
        print(f"profile: error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nprofile: stopped; nothing was changed", file=sys.stderr)
        return 130
    size = profile.stat().st_size
    target = trainer.work
    if options.compiler or options.preset in ("release", "package"):
        target = COMMITTED
        for file in (profile, trainer.work / FACTS):
            if file.is_file():
                shutil.copy(file, target / file.name)
    _say(f"{size / 1e6:.2f} MB, {profile.name} in {target.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
