# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Do the checks of a server that has recovered find what is wrong? No server runs: its answers
are made up."""

from __future__ import annotations

import contextlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import check
import load
import matrix
import pymysql
import pytest
import recovery
from check import Findings
from ledger import WIDE, WIDE_ROWS, Promised, Table, Tables, definition
from load import HANGS, Load, Setting
from power_server import PowerServer, Wanted, stress

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
Rows = list[tuple[object, ...]]


class Cursor:
    """Answers a statement by the first pattern that it matches."""

    def __init__(self, answers: dict[str, Rows]) -> None:
        self._answers = answers
        self._rows: Rows = []

    def execute(self, statement: str) -> None:
        self._rows = next(
            rows for like, rows in self._answers.items() if re.search(like, statement)
        )

    def fetchall(self) -> Rows:
        return self._rows


def binlog(events: list[str], first: int = 1) -> Cursor:
    """A server with one log, and a GTID for each event."""
    log: Rows = [("", 4, "Previous_gtids", 1, 0, "")]
    for number, text in enumerate(events, first):
        log.append(("", 0, "Gtid", 1, 0, f"SET @@SESSION.GTID_NEXT= '{UUID}:{number}'"))
        log.append(("", 0, "Query", 1, 0, text))
    end = first + len(events) - 1
    purged = f"{UUID}:1-{first - 1}" if first > 1 else ""
    return Cursor(
        {
            "SHOW BINARY LOGS": [(f"binlog.{first:06}", 9, "No")],
            "SHOW BINLOG EVENTS": log,
            "gtid_mode": [("ON", f"{UUID}:1-{end}", purged, "9.7.2-sluice")],
        }
    )


def of_binlog(cursor: Cursor, promised: Promised, found: Findings) -> list[str]:
    check._check_binlog(cursor, {}, found.tables, promised, found)
    return [kind for kind, _ in found.problems]


def test_a_transaction_that_is_logged_twice_is_found() -> None:
    """Though a statement may be there twice within one."""
    events = ["/* R 1 1 */", "/* R 1 2 */"]
    promised, found = Promised(rows={1: 2}), Findings(numbers={1: 2})
    check._check_binlog(binlog(events), {1: 2}, 0, promised, found)
    assert found.problems == []
    check._check_binlog(binlog([*events, "/* R 1 2 */"]), {1: 2}, 0, promised, found)
    assert [kind for kind, _ in found.problems] == ["binlog"]
    found = Findings()
    check._check_binlog(binlog(["/* D 3 */", "/* D 3 */"]), {}, 3, Promised(tables=3), found)
    assert [kind for kind, _ in found.problems] == ["binlog"]


@pytest.mark.parametrize(("stale", "kinds"), [(0, []), (1, ["corrupt"])])
def test_an_index_of_the_wide_table_is_compared_with_its_rows(stale: int, kinds: list[str]) -> None:
    """CHECK TABLE counts what an index has, and does not look at it."""
    cursor = Cursor(
        {
            "CHECK TABLE": [("pc.wide", "check", "status", "OK")],
            "information_schema.STATISTICS": [("k1",)],
            "FORCE INDEX .k1.": [(row, stale * (row == 7)) for row in range(WIDE_ROWS)],
            "FROM pc.wide": [(row, 0, 1) for row in range(WIDE_ROWS)],
        }
    )
    found = Findings()
    check._check_wide(cursor, {WIDE: 0}, Promised(index=1), found)
    assert [kind for kind, _ in found.problems] == kinds


def test_what_is_there_is_what_the_next_load_has_promised() -> None:
    """It may be more than was acknowledged."""
    found = Findings(numbers={1: 8, 2: 3}, tables=5, indexes={"k3"})
    begun = found.begun(Promised(rows={1: 7, 2: 3}, tables=4, index=2, undo=True))
    assert (begun.rows, begun.tables, begun.index, begun.undo) == ({1: 8, 2: 3}, 5, 3, True)
    again = Promised.read([*begun.marks(), "R 1 9", "R 1 8"])
    assert (again.rows, again.tables, again.index) == ({1: 9, 2: 3}, 5, 3)


def test_what_another_client_sees_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once for each number, and not what an earlier load had promised."""
    marks: list[str] = []
    cursor = Cursor({"ledger": [(1, 4), (2, 9)]})
    monkeypatch.setattr(Load, "_rows", lambda *_arguments: None)
    connection = SimpleNamespace(cursor=lambda: contextlib.nullcontext(cursor))
    setting = Setting(ddl=False, undo=False, purge=False, wide=False)
    running = Load(
        lambda _: contextlib.nullcontext(connection),
        marks.append,
        setting,
        "1",
        Promised(rows={2: 9}),
    )
    running.run(0.3)
    assert running.errors == [] and marks == ["R 1 4\n"]
    # Before the redo log is flushed, without a binary log.
    marks.clear()
    setting.binlog = False
    running = Load(lambda _: contextlib.nullcontext(connection), marks.append, setting, "1")
    running.run(0.3)
    assert marks == []


def engine(tables: Tables) -> Cursor:
    """A server with these tables."""
    columns: Rows = [(name, column) for name, t in tables.items() for column in t.columns]
    indexes: Rows = [(name, index) for name, t in tables.items() for index in t.indexes]
    counts = {f"COUNT.* pcddl.{name}$": [(t.rows, t.rows)] for name, t in tables.items()}
    return Cursor(
        {
            "information_schema.COLUMNS": columns,
            "information_schema.STATISTICS": indexes,
            "INNODB_TABLESPACES": [(f"pcddl/{name}",) for name, t in tables.items() if t.encrypted],
            "CHECK TABLE": [("", "", "status", "OK")],
            **counts,
        }
    )


def rebuild() -> tuple[int, Tables]:
    """A statement that leaves the tables as they were."""
    tables: Tables = {}
    number = 0
    while True:
        number += 1
        before = {name: table.copy() for name, table in tables.items()}
        if "FORCE" in definition(tables, number, encryption=False):
            return number, before


@pytest.mark.parametrize(("logged", "kinds"), [(0, []), (-1, ["binlog"])])
def test_an_acknowledged_statement_that_left_no_trace_is_missed(
    logged: int, kinds: list[str]
) -> None:
    number, tables = rebuild()
    promised, found = Promised(tables=number), Findings()
    found.tables = check._check_tables(engine(tables), promised, Setting(), found)
    assert found.problems == [] and found.logged == number
    events = [f"ALTER TABLE /* D {number - 1} */ d1", f"ALTER TABLE /* D {number} */ d1"]
    cursor = binlog(events[: len(events) + logged])
    assert of_binlog(cursor, promised, found) == kinds


@pytest.mark.parametrize(("there", "kinds"), [("Y", []), ("N", ["half"])])
def test_the_encryption_of_a_table_is_compared(there: str, kinds: list[str]) -> None:
    tables: Tables = {}
    number = 0
    while not any(table.encrypted for table in tables.values()):
        number += 1
        definition(tables, number, encryption=True)
    found = Findings()
    cursor = engine(tables)
    if there == "N":
        cursor._answers["INNODB_TABLESPACES"] = []
    check._check_tables(cursor, Promised(tables=number), Setting(encryption=True), found)
    assert [kind for kind, _ in found.problems] == kinds


def test_an_added_column_has_its_default() -> None:
    tables = {"d1": Table(["id", "v", "c7"], ["PRIMARY"], 150)}
    asked: list[str] = []
    cursor = engine(tables)
    execute = cursor.execute
    cursor.execute = lambda statement: asked.append(statement) or execute(statement)  # type: ignore[method-assign,func-returns-value]
    check._check_tables(cursor, Promised(), Setting(), Findings())
    (counted,) = [statement for statement in asked if "COUNT" in statement]
    assert "SUM(v = id % 7 AND c7 = 7)" in counted


def test_what_an_earlier_load_may_not_have_done_is_not_missed() -> None:
    """Before a kill: that the tables are those after a statement does not mean that it was done."""
    number, tables = rebuild()
    promised = Promised.read([], Promised(tables=number))
    found = Findings()
    found.tables = check._check_tables(engine(tables), promised, Setting(), found)
    assert found.logged == 0
    assert of_binlog(binlog([f"ALTER TABLE /* D {number - 1} */ d1"]), promised, found) == []


@pytest.mark.parametrize(
    ("told", "events", "indexes", "kinds"),
    [
        (5, 5, {"k5"}, []),
        (5, 6, set(), []),
        (4, 5, {"k5"}, []),
        (5, 4, set(), ["binlog"]),  # the index is gone, as if the next statement had dropped it
        (5, 5, set(), ["binlog"]),
        (0, 0, set(), []),
    ],
)
def test_an_index_that_is_lost_is_not_one_that_was_dropped(
    told: int, events: int, indexes: set[str], kinds: list[str]
) -> None:
    cursor = binlog([f"ALTER TABLE /* I {number} */ wide" for number in range(1, events + 1)])
    assert of_binlog(cursor, Promised(index=told), Findings(indexes=indexes)) == kinds


@pytest.mark.parametrize(
    ("marks", "first", "kinds"),
    [
        ([], 1, []),
        ([], 2, ["purge"]),
        (["p binlog.000003"], 3, []),
        (["p binlog.000003", "P binlog.000003"], 3, []),
        (["p binlog.000003"], 4, ["purge"]),
        (["p binlog.000003", "P binlog.000003"], 2, ["purge"]),
    ],
)
def test_a_purge_removes_what_it_was_asked_to(
    marks: list[str], first: int, kinds: list[str]
) -> None:
    assert of_binlog(binlog(["COMMIT"], first), Promised.read(marks), Findings()) == kinds


def test_a_purge_before_a_kill_is_remembered() -> None:
    promised = Promised.read([], Promised.read(["p binlog.000003", "U"]))
    assert (promised.purging_to, promised.undo) == ("binlog.000003", True)


@pytest.mark.parametrize(
    ("told", "there", "kinds"), [(True, True, []), (True, False, ["lost"]), (False, False, [])]
)
def test_an_acknowledged_undo_tablespace_is_there(
    told: bool, there: bool, kinds: list[str]
) -> None:
    found = Findings()
    cursor = Cursor({"pc_undo": [(1,)] if there else []})
    check._check_undo(cursor, Promised(undo=told), found)
    assert [kind for kind, _ in found.problems] == kinds


@pytest.mark.parametrize(("told", "kind"), [(True, "stray"), (False, "known: undo file")])
def test_the_file_of_a_lost_undo_tablespace_is_not_upstreams(
    tmp_path: Path, told: bool, kind: str
) -> None:
    (tmp_path / "pc_undo.ibu").touch()
    (tmp_path / "binlog.000001").touch()
    found = Findings()
    cursor = Cursor(
        {
            "files_pending": [],
            "SHOW BINARY LOGS": [("binlog.000001", 9, "No")],
            "information_schema.FILES": [],
            "SPACE_TYPE": [],
            "CREATE UNDO": [],
        }
    )
    check._check_files(cursor, tmp_path, Promised(undo=told), found)
    assert [kind for kind, _ in found.problems] == [kind]


@pytest.mark.parametrize(
    ("name", "spaces", "kinds"),
    [
        ("data/undo_1_trunc.log", [0xFFFFFFEF, 0xFFFFFFEE], ["stray"]),
        # innodb_undo_002 after two truncations
        ("data/#innodb_redo/undo_2_trunc.log", [0xFFFFFFEF, 0xFFFFFFEE - 2 * 127], ["stray"]),
        ("data/undo_3_trunc.log", [0xFFFFFFEF, 0xFFFFFFEE, 0xFFFFFFED], ["stray"]),
        # of a statement that was lost, and when it was repeated, its tablespace became number 4
        ("data/undo_3_trunc.log", [0xFFFFFFEF, 0xFFFFFFEE], []),
        ("data/undo_3_trunc.log", [0xFFFFFFEF, 0xFFFFFFEE, 0xFFFFFFEC], []),
        ("keyring.backup", [], ["stray"]),
        ("keyring.backup.new", [], ["stray"]),
        ("keyring", [], []),
    ],
)
def test_what_a_start_has_to_remove_is_missed_if_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, spaces: list[int], kinds: list[str]
) -> None:
    monkeypatch.setattr(check, "PATIENCE", 0)
    for file in ("data/binlog.000001", name):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).touch()
    cursor = Cursor(
        {
            "files_pending": [],
            "SHOW BINARY LOGS": [("binlog.000001", 9, "No")],
            "information_schema.FILES": [],
            "SPACE_TYPE": [(space,) for space in spaces],
        }
    )
    found = Findings()
    check._check_files(cursor, tmp_path / "data", Promised(), found)
    assert [kind for kind, _ in found.problems] == kinds


class Server:
    """Recovers, answers, stops."""

    is_stock = False
    gave_up = False
    was_idle = False

    def __init__(self, home: Path, status: int = 0, starts: int = 1, log: str = "") -> None:
        self.home = self.data = home
        self._said = log
        self.log = home / "mysqld.log"
        self.running = False
        self._status = status
        self._starts = starts

    def start_within(self, _seconds: float) -> float:
        self._starts -= 1
        if self._starts > 0:
            self.gave_up = True
            raise stress.Failure("killed")
        self.running = True
        return 1.0

    @contextlib.contextmanager
    def connect(self, _database: str | None) -> Iterator[SimpleNamespace]:
        cursor = contextlib.nullcontext(Cursor({"": []}))
        yield SimpleNamespace(cursor=lambda: cursor)

    def stop(self) -> int:
        self.running = False
        return self._status

    def end(self) -> None:
        self.running = False

    def complaints(self, what: re.Pattern[str] = stress.COMPLAINT) -> list[str]:
        return [self._said] if what.search(self._said) else []


def recovered(
    server: Server, monkeypatch: pytest.MonkeyPatch, *, all_pages: bool = False
) -> Findings:
    monkeypatch.setattr(recovery, "check_pages", lambda *_arguments, **_options: None)
    return recovery.recover(server, Promised(), Setting(), all_pages=all_pages)[0]


def test_a_page_that_was_written_before_its_redo_log_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says so, and goes on."""
    monkeypatch.setattr(recovery, "check", lambda *_arguments: None)
    said = "[ERROR] Page log sequence number 9 is in the future! Current system LSN 8."
    found = recovered(Server(tmp_path, log=said), monkeypatch)
    assert found.problems == [("future", said)]


@pytest.mark.parametrize(
    ("source", "kind", "allowed"),
    [("buf0buf.cc", "crash", True), ("buf0lruevict.cc", "assertion", False)],
)
def test_an_assertion_of_ours_is_allowed_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, kind: str, *, allowed: bool
) -> None:
    """Where a torn page may end the server."""
    monkeypatch.setattr(recovery, "check", lambda *_arguments: None)
    for said in (
        f"[ERROR] [MY-013183] [InnoDB] Assertion failure: {source}:150:n > 0 thread 1",
        f"mysqld: ../src/storage/innobase/buf/{source}:150: void f(): Assertion `n > 0' failed.",
    ):
        assert recovered(Server(tmp_path, log=said), monkeypatch).problems == [(kind, said)]
    without = next(entry for entry in matrix.ENTRIES if entry.name == "doublewrite-off")
    assert without.may(kind, "protected") == allowed


@pytest.mark.parametrize("what", ["lost", "no start"])
def test_a_start_after_a_clean_stop_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    checks: list[Findings] = []

    def finds(*arguments: object) -> None:
        found = arguments[-1]
        assert isinstance(found, Findings)
        checks.append(found)
        if len(checks) == 2:
            if what == "no start":
                raise pymysql.OperationalError(2013, "gone")
            found.add(what, "one")

    monkeypatch.setattr(recovery, "check", finds)
    found = recovered(Server(tmp_path), monkeypatch, all_pages=True)
    assert [kind for kind, _ in found.problems] == [what]
    assert "after a clean stop" in found.detail


def test_an_error_does_not_hide_what_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*arguments: object) -> None:
        found = arguments[-1]
        assert isinstance(found, Findings)
        found.add("lost", "one")
        raise pymysql.OperationalError(1030, "an error of the engine")

    monkeypatch.setattr(recovery, "check", fails)
    found = recovered(Server(tmp_path), monkeypatch)
    assert [kind for kind, _ in found.problems] == ["lost", "refused"]


@pytest.mark.parametrize(("status", "kinds"), [(0, []), (1, ["crash"]), (-11, ["crash"])])
def test_a_shutdown_that_fails_is_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int, kinds: list[str]
) -> None:
    monkeypatch.setattr(recovery, "check", lambda *_arguments: None)
    found = recovered(Server(tmp_path, status), monkeypatch)
    assert [kind for kind, _ in found.problems] == kinds


def test_a_start_that_gets_no_processor_does_not_hang(tmp_path: Path) -> None:
    """Beside tests of a higher priority."""

    def threads(*waits: int) -> None:
        for number, wait in enumerate(waits):
            (tmp_path / "task" / str(number)).mkdir(parents=True, exist_ok=True)
            (tmp_path / "task" / str(number) / "schedstat").write_text(f"1000 {wait}000000000 9")

    (tmp_path / "stat").write_text(f"1 (mysqld) S{' 0' * 20}")
    threads(2, 3)
    wanted = Wanted(tmp_path)
    assert wanted.seconds() == 0
    threads(4, 3, 1)
    assert wanted.seconds() == 3
    shutil.rmtree(tmp_path / "task" / "0")
    assert wanted.seconds() == 1


def test_a_server_that_ends_without_a_word_is_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that the kernel kills because memory is short."""
    server = Server(tmp_path, status=-9)
    monkeypatch.setattr(recovery, "check", lambda *_arguments: server.end())
    assert recovered(server, monkeypatch).problems == [("crash", "it had ended with -9")]


@pytest.mark.parametrize(
    ("kind", "looked_at"),
    [("known: undo file", True), ("lost", True), ("crash", False)],
)
def test_what_is_known_or_allowed_does_not_hide_a_wrong_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, *, looked_at: bool
) -> None:
    monkeypatch.setattr(recovery, "check", lambda *arguments: arguments[-1].add(kind, "first"))
    monkeypatch.setattr(
        recovery, "check_pages", lambda _, found, **_options: found.add("pages", "wrong")
    )
    found = recovery.recover(Server(tmp_path), Promised(), Setting(), all_pages=False)[0]
    assert [k for k, _ in found.problems] == [kind] + ["pages"] * looked_at


def test_an_answer_that_takes_too_long_is_told_before_the_client_hangs() -> None:
    assert PowerServer.connection_options["read_timeout"] < HANGS


@pytest.mark.parametrize(("each", "errors"), [(1, 0), (0, 1)])
def test_a_load_hangs_if_no_transaction_is_acknowledged(
    monkeypatch: pytest.MonkeyPatch, each: int, errors: int
) -> None:
    """Not if its clients wait for a processor: 500 seconds for each is slow, and goes on."""
    running = Load(lambda _: None, lambda _: None, Setting(), "1")
    now = 0.0

    def passes(_seconds: float) -> bool:
        nonlocal now
        now += 500
        running.done += each
        return False

    monkeypatch.setattr(load.time, "monotonic", lambda: now)
    monkeypatch.setattr(running, "_over", SimpleNamespace(wait=passes))
    running.wait_for(3)
    assert len(running.errors) == errors


@pytest.mark.parametrize(
    ("name", "error", "number", "known"),
    [
        ("innodb_undo_002", 1533, 2, True),
        ("innodb_undo_002", 1533, 1, False),  # of another tablespace
        ("innodb_undo_002", 1533, 22, False),
        ("innodb_undo_002", 1533, None, False),  # no start has completed a truncation
        ("innodb_undo_002", 1030, 2, False),
        ("pc_undo", 1533, 4, True),
        ("pc_undo", 1533, 2, False),
    ],
)
def test_an_old_number_in_the_dictionary_is_known_if_a_start_has_changed_it(
    tmp_path: Path, name: str, error: int, number: int | None, *, known: bool
) -> None:
    server = Server(tmp_path)
    server.is_stock = True
    server.log.write_text("ready for connections.\n")
    if number is not None:  # the start before the last kill
        completed = f"[InnoDB] Reconstructing undo tablespace number {number}.\n"
        (tmp_path / "mysqld.1.log").write_text(completed)
    told = pymysql.OperationalError(error, f"Failed to alter: UNDO TABLESPACE {name}")
    assert recovery.undo_number_is_old(server, f"OperationalError: {told}") == known
    server.is_stock = False  # fixed
    assert not recovery.undo_number_is_old(server, f"OperationalError: {told}")


def test_a_start_that_was_killed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "check", lambda *_arguments: None)
    found = recovered(Server(tmp_path, starts=2), monkeypatch)
    assert found.problems == []
    assert "started again" in found.detail


def test_a_start_that_hangs_is_a_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(tmp_path, starts=2)
    server.was_idle = True
    found = recovered(server, monkeypatch)
    assert [kind for kind, _ in found.problems] == ["no start"]
    assert "idle" in found.detail


class Starting(PowerServer):
    """A start that does not end."""

    def __init__(self, *command: str) -> None:
        self._command = list(command)

    def start(self, _seconds: float) -> float:
        self._process = subprocess.Popen(self._command)
        self._process.wait()
        raise stress.Failure("killed")


# Not Python for the idle one, and not in a few seconds: a program takes its time to begin on a busy machine.
@pytest.mark.parametrize(
    ("command", "idle"),
    [(("sleep", "60"), True), ((sys.executable, "-c", "while True: pass"), False)],
)
def test_a_start_that_uses_the_processor_does_not_hang(
    command: tuple[str, ...], *, idle: bool
) -> None:
    server = Starting(*command)
    with pytest.raises(stress.Failure):
        server.start_within(10)
    assert (server.gave_up, server.was_idle) == (True, idle)
