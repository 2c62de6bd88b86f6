"""Do the stresses of a server find what is lost? No server runs: its answers are made up."""

import contextlib
import os
import random
import re
import sys
import threading
import time
from types import SimpleNamespace

import pymysql
import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "superbuild/stress"))
sys.path += [str(ROOT / "superbuild/topologies"), str(ROOT / "bench")]

import ddl_sessions
import disk
from acknowledged import Acknowledged
from ddl_rows import ROWS
from ddl_sessions import Stress
from ddl_statements import Ddl
from faults import Faults
from load import Load as FleetLoad
from server import Failure, Server


class Cursor:
    """Answers a statement by the first pattern that it matches."""

    rowcount = 1

    def __init__(self, answers):
        self._answers = answers
        self._rows = []

    def execute(self, statement, _values=()):
        self._rows = next(
            rows for like, rows in self._answers.items() if re.search(like, statement)
        )

    def fetchall(self):
        return self._rows

    def fetchone(self):
        return self._rows[0]


def connection(answers):
    return contextlib.nullcontext(
        SimpleNamespace(
            cursor=lambda: contextlib.nullcontext(Cursor(answers)),
            begin=lambda: None,
            commit=lambda: None,
        )
    )


LOST = pytest.mark.parametrize(
    ("there", "wrong"), [(2, None), (1, "lost"), (0, "lost"), (3, "never sent")]
)


def expected(wrong):
    return pytest.raises(Failure, match=wrong) if wrong else contextlib.nullcontext()


@LOST
def test_a_transaction_that_ddl_loses_or_repeats_is_missed(there, wrong):
    answers = {
        "FROM acknowledged": [("writer 4", there)] if there else [],
        "information_schema": [],
        "CHECK TABLE": [("t", "check", "status", "OK")],
        "COUNT": [(ROWS, 0, 0)],
        "": [],
    }
    stress = Stress(SimpleNamespace(connect=lambda: connection(answers)), 1)
    with connection(answers) as session:
        for _ in range(2):
            stress.write(4, session, random.Random(1))
    with expected(wrong):
        stress.verify(thorough=True)


@LOST
def test_a_transaction_that_a_disk_loses_or_repeats_is_missed(there, wrong):
    answers = {
        "FROM acknowledged": [("writer0", there)] if there else [],
        "CHECK TABLE": [("kept", "check", "status", "OK")],
        "COUNT": [(disk.ROWS, 0, 0)],
        "": [],
    }
    acknowledged = Acknowledged()
    with connection(answers) as session:
        for _ in range(2):
            disk.update(acknowledged, session, "writer0")
    with expected(wrong):
        disk.check(SimpleNamespace(connect=lambda: connection(answers)), acknowledged)


@pytest.mark.parametrize(
    ("there", "wrong", "killed", "fails"),
    [
        (2, 0, False, False),
        (3, 0, True, False),
        (3, 0, False, True),
        (1, 0, True, True),
        (4, 0, True, True),
        (2, 1, False, True),
    ],
)
def test_a_full_disk_that_loses_a_row_or_keeps_a_refused_one_is_a_failure(
    there, wrong, killed, fails
):
    server = SimpleNamespace(connect=lambda: connection({"COUNT": [(there, wrong)]}))
    with pytest.raises(Failure) if fails else contextlib.nullcontext():
        disk.check_filled(server, "filler0", 2, killed=killed)


def lost_connection():
    raise pymysql.OperationalError(2013, "Lost connection")


def test_a_transaction_without_an_answer_may_be_lost_until_it_was_seen():
    acknowledged = Acknowledged()

    def commit(answer):
        with connection({"": []}) as session:
            session.commit = answer
            acknowledged.commit(session, "writer0")

    def check(there):
        with connection({"": [("writer0", there)]}) as session:
            acknowledged.check(session)

    commit(lambda: None)
    with pytest.raises(pymysql.Error):
        commit(lost_connection)
    check(1)
    check(2)
    with pytest.raises(Failure, match="lost"):
        check(1)
    with pytest.raises(Failure, match="never sent"):
        check(3)


@pytest.fixture
def load():
    """Of a server that has a connection for each session."""
    of_test = disk.Load(SimpleNamespace(connect=lambda: SimpleNamespace(open=True)))
    yield of_test
    of_test._over.set()


@pytest.mark.parametrize(("server_ends", "fails"), [(True, False), (False, True)])
def test_a_connection_that_is_lost_while_the_server_runs_is_a_failure(load, server_ends, fails):
    if server_ends:
        load.server_ends()
    load.start(lambda *_: lost_connection(), ["writer0"])
    with pytest.raises(Failure, match="Lost") if fails else contextlib.nullcontext():
        load.end()


@pytest.mark.parametrize("connects", [True, False])
def test_a_session_that_breaks_is_a_failure(load, connects):
    load.server_ends()
    if not connects:
        load._server.connect = lambda: 1 // 0
    load.start(lambda *_: 1 // 0, ["writer0"])
    with pytest.raises(Failure, match="division"):
        load.end()


def test_a_session_that_hangs_on_a_full_disk_is_not_freed_by_a_kill(load, monkeypatch):
    killed = threading.Event()
    load.start(lambda *_: None, ["writer0"])
    load.wait_for_answers()
    monkeypatch.setattr(disk, "PATIENCE", 1)
    load.start(lambda *_: killed.wait(60), ["writer1"])
    with pytest.raises(Failure, match="may hang"):
        load.wait_for_answers()
    killed.set()


class Idle:
    """A load that has done all that it is asked for."""

    def __init__(self, _server):
        self.done = SimpleNamespace(total=lambda: 1000)

    def start(self, *_):
        pass

    server_ends = end = start

    def wait(self, _what, condition):
        assert condition()


@pytest.mark.parametrize("made", [0, 1])
def test_a_server_that_ends_before_a_call_has_failed_has_crashed(monkeypatch, made):
    monkeypatch.setattr(disk, "Load", Idle)
    monkeypatch.setattr(disk, "check", lambda *_: None)
    server = SimpleNamespace(running=False, start=lambda: 1.0)
    fault = SimpleNamespace(begin=lambda _: None, end=lambda: made)
    with contextlib.nullcontext() if made else pytest.raises(Failure, match="no sync had failed"):
        disk.failing_disk(server, Acknowledged(), fault, "sync")


def test_a_session_that_hangs_beside_ddl_is_not_freed_by_each_kill(monkeypatch):
    killed = threading.Event()
    server = SimpleNamespace(
        kill=killed.set,
        connect=lambda: SimpleNamespace(
            open=True, close=lambda: None, cursor=lambda: contextlib.nullcontext(Cursor({"": []}))
        ),
    )
    stress = Stress(server, 1)

    def hangs(*_):
        assert killed.wait(60)
        return "hung"

    thread = threading.Thread(target=stress.session, args=("writer 0", hangs))
    thread.start()
    try:
        while not stress._active:
            time.sleep(0.01)
        with stress.quiet(killed=True):
            killed.clear()
        monkeypatch.setattr(ddl_sessions, "HANGS", 1)
        with pytest.raises(Failure, match="hang: writer 0"), stress.quiet(killed=True):
            pass
        # Others are killed in the middle of a step.
        monkeypatch.undo()
        stress._kills += 1
        with stress.quiet(killed=True):
            assert stress.failure is None
    finally:
        stress.end()
        killed.set()
        thread.join()


def test_a_start_that_hangs_leaves_no_process(tmp_path):
    server = Server.__new__(Server)
    server._command, server._options = ["sh", "-c", "exec sleep 1000"], []
    server._environment = os.environ
    server.socket, server.output, server.log = (tmp_path / name for name in ("s", "output", "log"))
    with pytest.raises(Failure, match="neither starts nor ends"):
        server.start(0.1)
    assert not server.running


def test_a_server_that_takes_a_connection_and_says_nothing_is_not_waited_for(monkeypatch):
    told = {}
    monkeypatch.setattr(pymysql, "connect", lambda **options: told.update(options))
    server = Server.__new__(Server)
    server.socket = "socket"
    server.connect()
    assert told["read_timeout"] and told["write_timeout"]


@pytest.mark.parametrize(
    ("executed", "is_lost"), [("u:1-5", False), ("u:1-4", True), ("u:1-3:5", True)]
)
def test_a_gtid_that_a_fault_loses_is_missed(tmp_path, executed, is_lost):
    """Also that of a transaction beside the fault."""
    (tmp_path / "binlog.000001").touch()
    answers = {
        "SHOW BINARY LOGS": [("binlog.000001",)],
        "files_pending": [("", "0")],
        "COUNT": [(3, 3)],
        "gtid_executed": [(executed,)],
        "": [],
    }
    server = SimpleNamespace(connect=lambda _database: connection(answers), data=tmp_path)
    with pytest.raises(Failure, match="gtid_executed") if is_lost else contextlib.nullcontext():
        faults = Faults(server)
        faults._write(3)
        faults._all_is_there("")


@pytest.mark.parametrize(
    ("imports", "copied_id", "stays"),
    [
        (False, b"same", False),  # killed before the import has written its ID
        (False, b"its_", True),  # and after: the server needs it
        (True, b"same", True),  # an import that was acknowledged: the server must not find both
    ],
)
def test_a_copy_that_was_not_imported_is_not_in_the_way_of_a_start(
    tmp_path, monkeypatch, imports, copied_id, stays
):
    folder = tmp_path / "data" / "stress"
    folder.mkdir(parents=True)
    target = folder / "target_0.ibd"

    def execute(statement):
        if statement.startswith("FLUSH TABLES"):
            (folder / "source_0.ibd").write_bytes(b"." * 34 + b"same")
            (folder / "source_0.cfg").touch()
        elif statement.endswith("IMPORT TABLESPACE"):
            target.write_bytes(b"." * 34 + copied_id)
            if not imports:
                raise pymysql.OperationalError(2013, "Lost connection")

    monkeypatch.setattr("ddl_statements.check", lambda *_: None)
    server = SimpleNamespace(can_encrypt=False, data=tmp_path / "data", home=tmp_path)
    ddl = Ddl(server, 0)
    with contextlib.suppress(pymysql.OperationalError):
        ddl.import_(None, SimpleNamespace(execute=execute), random.Random(1))
    ddl.remove_copy()
    assert target.exists() == stays


GONE, DEADLOCK = pymysql.err.OperationalError(2013, "gone"), pymysql.err.OperationalError(1213, "")
TWICE = pymysql.err.IntegrityError(1062, "Duplicate entry '0-1' for key 'ledger.PRIMARY'")


@pytest.mark.parametrize(
    ("attempts", "done"),
    [
        ([GONE, TWICE], 1),
        ([GONE, DEADLOCK, TWICE], 1),
        ([OSError(), TWICE], 1),
        ([DEADLOCK, TWICE], None),
        ([None, TWICE], None),
        ([GONE, None, TWICE], None),
    ],
)
def test_a_transaction_that_was_rolled_back_is_not_there(monkeypatch, attempts, done):
    """Nor one that nobody has sent. After a lost answer it may be."""
    running = FleetLoad([], clients=1)
    running.pause = 0
    left = list(attempts)

    def attempt(*_):
        outcome = left.pop(0)
        if not left:
            running._over.set()
        if outcome is not None:
            raise outcome

    monkeypatch.setattr(running, "_transaction", attempt)
    monkeypatch.setattr(
        running,
        "_connect",
        lambda _: SimpleNamespace(open=True, close=lambda: None, rollback=lambda: None),
    )
    running._client(0)
    if done is None:
        assert running._failure is TWICE
    else:
        assert (running.done, running._failure) == ([done], None)
