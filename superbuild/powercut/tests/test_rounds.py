# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Does a run in which nothing was tried, or something failed, end as a failure? No server runs."""

from __future__ import annotations

import argparse
import contextlib
import itertools
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import kills
import matrix
import pymysql
import pytest
import recovery
import rig
from check import Findings
from cuts import Cut
from ledger import Promised
from oplog import HEADER, Kind, Log
from power_server import stress
from rounds import COLUMNS, ENOUGH, Table


def test_purged_logs_are_shrunk_before_they_go() -> None:
    options = dict(option.partition("=")[::2] for option in matrix.COMMON)
    chunk = int(options["--loose-binlog-purge-chunk-size"])
    assert 0 < chunk < int(options["--max-binlog-size"])


@pytest.fixture
def arguments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    monkeypatch.setattr(rig, "BUILD", tmp_path)
    monkeypatch.setattr(kills, "BUILD", tmp_path)
    (tmp_path / "run").mkdir()
    return argparse.Namespace(
        run="run",
        preset="debug",
        workers=1,
        least=0,
        minutes=0,
        matrix="",
        rounds=0,
        mode="",
        cuts=4,
        seconds=1,
        seed="1",
        keep=False,
        verbose=False,
    )


@pytest.mark.parametrize(
    ("row", "idle"),
    [
        ({"promised": 0, "bytes_pending": 9, "bytes_kept": 0}, ["fsync"]),
        ({"promised": 5, "bytes_pending": 9, "bytes_kept": 9}, ["fsync"]),
        ({"promised": 5, "bytes_pending": 9, "bytes_kept": 8}, []),
        ({"promised": 5, "namings": 2, "namings_kept": 1}, []),
    ],
)
def test_rounds_that_could_tell_nothing_are_no_proof(
    tmp_path: Path, row: dict[str, object], idle: list[str]
) -> None:
    table = Table(tmp_path / "rounds.csv")
    common: dict[str, object] = {"entry": "fsync", "recording": "0", "mode": "journal"}
    for index in range(ENOUGH):
        assert table.idle() == []
        table.add(common | {"index": index, "result": "ok"} | (row if index == 3 else {}))
    assert table.idle() == idle
    assert Table(tmp_path / "rounds.csv").idle() == idle


def test_a_run_without_a_round_has_failed(arguments: argparse.Namespace) -> None:
    assert rig.run(arguments) == 1


def test_a_run_without_a_kill_has_failed(
    arguments: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kills.Homes, "base", lambda *_arguments: None)
    arguments.disk, arguments.series = False, 1
    assert kills.run(arguments) == 1


@pytest.mark.parametrize("names", ["no sync of cables", "no sync of tables,no sync of cables"])
def test_a_mutant_that_there_is_not_is_named(arguments: argparse.Namespace, names: str) -> None:
    arguments.matrix = names
    with pytest.raises(SystemExit, match="no such mutant: no sync of cables"):
        rig.mutants(arguments)


@pytest.mark.parametrize(("found", "status"), [("no start", 0), ("NOT FOUND", 1)])
def test_a_mutant_that_was_not_found_before_is_missed_still(
    arguments: argparse.Namespace, tmp_path: Path, found: str, status: int
) -> None:
    arguments.matrix = "no sync of tables, fast path off"
    (tmp_path / "run" / "mutants.csv").write_text(
        f'mutant,entry,mode,cuts,found,detail\n"{arguments.matrix}",fsync-plain,journal,9,{found},\n'
    )
    assert rig.mutants(arguments) == status


def a_log(file: Path) -> Log:
    file.write_bytes(HEADER.pack(3, Kind.MARK, 0, 0, 2, 0, 0) + b"end")
    return Log(file)


class Rig:
    """Records, perhaps but for the recovery; each round has the same result."""

    over = False
    preset = "debug"

    def __init__(self, folder: Path, result: str, *, recovers: bool = False) -> None:
        self.run = folder
        self.memory = folder / "memory"
        self.result = result
        self.recovers = recovers
        self.tried: list[Cut] = []

    def record(self, _entry: matrix.Entry, name: str, *_arguments: object) -> Path:
        place = self.run / "recordings" / name
        place.mkdir(parents=True)
        (place / "base").mkdir()
        a_log(place / "log")
        return place

    def record_recovery(self, entry: matrix.Entry, name: str, *_arguments: object) -> Path:
        if not self.recovers:
            raise stress.Failure("the server did not start")
        return self.record(entry, name)

    def cut(
        self, _entry: matrix.Entry, _place: Path, cuts: list[Cut]
    ) -> Iterator[tuple[Cut, dict[str, object]]]:
        for cut in cuts:
            self.tried.append(cut)
            row: dict[str, object] = dict.fromkeys(COLUMNS, "")
            of_cut = {"entry": cut.entry, "recording": cut.recording, "mode": cut.mode}
            started = {"recovery_seconds": 0.0 if "no start" in self.result else 1.0}
            yield cut, row | of_cut | {"index": cut.index, "result": self.result} | started


def named(name: str) -> matrix.Entry:
    return next(entry for entry in matrix.ENTRIES if entry.name == name)


@pytest.mark.parametrize(
    ("again", "result"),
    [
        ("no start", "no start"),
        ("allowed: no start", "allowed: no start"),
        ("lost", "lost"),
        ("ok", "no start"),
        ("known: undo file", "no start"),
    ],
)
def test_a_recovery_that_cannot_be_recorded_is_a_round(
    arguments: argparse.Namespace, tmp_path: Path, again: str, result: str
) -> None:
    """Also if the server recovers the second time, perhaps with a known finding."""
    of_test = Rig(tmp_path, again)
    table = Table(tmp_path / "rounds.csv")
    rig.one_recording(of_test, named("index"), 0, arguments, table)
    assert ("index", "0", "journal", rig.RECOVERY) in table.done
    assert of_test.tried[-1].at <= 1 and of_test.tried[-1].policy == "files"
    assert table.results == Counter({again: 4}) + Counter([result])


def test_a_recovery_that_failed_is_tried_again_although_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rig.Rig, "_round", lambda _self, _entry, cut, *_: {"index": cut.index})
    of_test = rig.Rig(tmp_path / "run", "debug", workers=1, minutes=1e-9)
    try:
        assert of_test.over
        (tmp_path / "base").mkdir()
        entry, log = named("index"), a_log(tmp_path / "log")
        failure = rig.failure_before_recovery(entry, log, 0, "1")
        cuts = rig.choose(log, entry, "0", "journal", "1", 1, "")
        tried = [row["index"] for _, row in of_test.cut(entry, tmp_path, [failure, *cuts])]
    finally:
        of_test.close()
    assert tried == [rig.RECOVERY]


@pytest.mark.parametrize(
    ("result", "results"), [([], {"ok": 6}), ([(1, "x")], {"ok": 6, "order": 2})]
)
def test_the_order_of_a_recording_is_looked_at_once_for_all_modes(
    arguments: argparse.Namespace,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    result: list[tuple[int, str]],
    results: dict[str, int],
) -> None:
    looked = []
    monkeypatch.setattr(
        rig, "look", lambda _log, place, rules: looked.append(place.name) or (result, Counter())
    )
    table = Table(tmp_path / "rounds.csv")
    entry = named("fsync")
    assert entry.modes == ("journal",) and entry.measured == ("posix",)
    rig.one_recording(Rig(tmp_path, "ok", recovers=True), entry, 0, arguments, table)
    assert looked == ["0", "0-recovery"]
    assert table.results == results


@pytest.mark.parametrize("kind", ["", "lost", "an error"])
def test_clients_go_on_after_a_recovery(monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """From what is there, if a check finds nothing; an error is a recovery that failed."""
    marks: list[str] = []
    began: list[Promised] = []

    def finds(*arguments: object) -> None:
        found = arguments[-1]
        assert isinstance(found, Findings)
        found.numbers, found.tables = {1: 8}, 3
        if kind == "lost":
            found.add(kind, "one")
        elif kind:
            raise pymysql.OperationalError(2013, kind)

    class Load:
        errors: tuple[str, ...] = ()

        def __init__(self, *arguments: object) -> None:
            began.append(arguments[-1])
            self.begin = lambda: None
            self.run = lambda *_: None

    monkeypatch.setattr(rig, "check", finds)
    monkeypatch.setattr(rig, "Load", Load)
    server = SimpleNamespace(
        connect=contextlib.nullcontext, data=Path(), last_words=lambda: "its last words"
    )
    of_test = rig.Rig.__new__(rig.Rig)
    arguments = (
        server,
        SimpleNamespace(mark=marks.append),
        named("fsync"),
        "0",
        Promised(rows={1: 7}),
    )
    if kind == "an error":
        with pytest.raises(stress.Failure, match="its last words"):
            of_test._go_on(*arguments)
        return
    of_test._go_on(*arguments)
    assert marks == ([] if kind else ["R 1 8\n", "D 3\n", "I 0\n"])
    assert [promised.rows for promised in began] == ([] if kind else [{1: 8}])


@pytest.mark.parametrize(("mode", "cuts"), [("journal", 4), ("ordered", 3), ("", 0)])
def test_settings_without_a_cut_are_not_tried_for_ever(
    arguments: argparse.Namespace, mode: str, cuts: int
) -> None:
    arguments.matrix, arguments.mode, arguments.cuts, arguments.rounds = "plain", mode, cuts, 1
    with pytest.raises(SystemExit, match="these settings have none"):
        rig.run(arguments)


def test_a_series_ends_with_a_look_at_the_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another worker may have made the rounds that were missing."""
    of_test = kills.Kills.__new__(kills.Kills)
    of_test._arguments = argparse.Namespace(
        seed="1", disk=True, preset="debug", rounds=3, series=20, verbose=False
    )
    of_test._folder, of_test._base = tmp_path, tmp_path / "base"
    of_test._base.mkdir()
    homes = itertools.count()
    of_test._homes = SimpleNamespace(home=lambda: tmp_path / f"home{next(homes)}")
    of_test._until = 0.0
    of_test._lock = threading.Lock()
    of_test._file = tmp_path / "rounds.csv"
    of_test.done, of_test.results = Counter(), Counter()
    server = SimpleNamespace(start_within=lambda _seconds: 1.0, end=lambda: None)
    monkeypatch.setattr(kills, "PowerServer", lambda *_arguments: server)
    asked = []

    def one_round(
        _server: object, _dice: random.Random, begun: Promised, is_last: Callable[[], bool]
    ) -> tuple[dict[str, object], Promised, bool]:
        of_test.done["entry"] += 1  # by the other one
        asked.append(is_last())
        row: dict[str, object] = {"result": "ok", "detail": ""}
        return row, begun, asked[-1]

    monkeypatch.setattr(of_test, "_round", one_round)
    monkeypatch.setitem(kills.ENTRIES, "entry", [])
    of_test._run("entry", 1)
    assert asked == [False, True]


def test_the_last_kill_stops_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = []
    server = SimpleNamespace(
        complaints=lambda *_: [],
        log=tmp_path / "mysqld.log",
        running=False,
        connect=lambda _database: contextlib.nullcontext(),
        data=tmp_path,
        stop=lambda: stopped.append(True) or 0,
    )
    monkeypatch.setattr(kills, "start", lambda _server, _found: 1.0)
    monkeypatch.setattr(kills, "check", lambda *_arguments: None)
    monkeypatch.setattr(recovery, "check_pages", lambda *_arguments, **_options: None)
    for last in (False, True):
        found, _, told = kills.look(server, Promised(), kills.Setting(), lambda last=last: last)
        assert isinstance(found, Findings) and found.problems == []
        assert told == last
    assert stopped == [True]
