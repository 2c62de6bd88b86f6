"""Do the stresses of a server find what is lost? No server runs: its answers are made up."""

import contextlib
import random
import re
import sys
from types import SimpleNamespace

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "superbuild/stress"))

from ddl_rows import ROWS
from ddl_sessions import Stress
from faults import Faults
from server import Failure


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


@pytest.mark.parametrize(("there", "is_lost"), [(2, False), (3, False), (1, True), (0, True)])
def test_a_transaction_that_ddl_loses_is_missed(there, is_lost):
    answers = {
        "FROM acknowledged": [(4, there)] if there else [],
        "information_schema": [],
        "CHECK TABLE": [("t", "check", "status", "OK")],
        "COUNT": [(ROWS, 0, 0)],
        "": [],
    }
    stress = Stress(SimpleNamespace(connect=lambda: connection(answers)), 1)
    with connection(answers) as session:
        for _ in range(2):
            stress.write(4, session, random.Random(1))
    with pytest.raises(Failure, match="lost") if is_lost else contextlib.nullcontext():
        stress.verify(thorough=True)


@pytest.mark.parametrize(("subset", "is_lost"), [(1, False), (0, True)])
def test_a_gtid_that_a_fault_loses_is_missed(tmp_path, subset, is_lost):
    (tmp_path / "binlog.000001").touch()
    answers = {
        "SHOW BINARY LOGS": [("binlog.000001",)],
        "files_pending": [("", "0")],
        "COUNT": [(0, 0)],
        "GTID_SUBSET": [(subset,)],
    }
    server = SimpleNamespace(connect=lambda _database: connection(answers), data=tmp_path)
    with pytest.raises(Failure, match="gtid_executed") if is_lost else contextlib.nullcontext():
        Faults(server)._all_is_there("")
