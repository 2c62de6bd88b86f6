# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Some kills with all of our switches on, and with them off."""

import random
import signal
from pathlib import Path
from types import SimpleNamespace

import homes
import kills
import matrix
import pytest
from check import Findings
from ledger import Promised
from load import Setting
from power_server import stress
from programs import run


@pytest.mark.parametrize("value", ["ON", "OFF"])
def test_kills_lose_nothing(value: str) -> None:
    settings = f"flusher={value} fast-path={value}"
    rounds = ("--rounds", "3", "--series", "3", "--seconds", "1")
    rows = run("kills.py", "run", "--matrix", settings, *rounds)
    assert len(rows) >= 3
    # A second on a busy machine may acknowledge none.
    assert any(int(row["acknowledged"]) > 0 for row in rows)


class Server:
    """Stops at once when asked to, and starts at once, or neither."""

    connect = None

    def __init__(self, *, quick: bool, status: int) -> None:
        self.exit_status: int | None = None
        self._quick = quick
        self._status = status

    @property
    def running(self) -> bool:
        return self.exit_status is None

    def ask_to_stop(self) -> None:
        if self._quick:
            self.exit_status = self._status

    def end(self) -> None:
        if self.running:
            self.exit_status = -signal.SIGKILL

    def start(self) -> float:
        self.exit_status = None
        if not self._quick:
            self.end()
            raise stress.Failure("killed")
        return 0.0


def a_round(
    monkeypatch: pytest.MonkeyPatch, when: str, *client_errors: str, quick: bool, status: int = 0
) -> dict[str, object]:
    """The row of a round in which nothing is found but these errors."""

    class Load:
        errors = client_errors

        def __init__(self, *_arguments: object) -> None:
            self.start = self.server_ends = self.join = lambda: None
            self.wait_for = lambda _: None

    monkeypatch.setattr(kills, "Load", Load)
    monkeypatch.setattr(kills, "WHEN", {when: 1})
    monkeypatch.setattr(kills, "look", lambda *_arguments: (Findings(), 0.0, False))
    monkeypatch.setattr(kills.time, "sleep", lambda _: None)
    rig = kills.Kills.__new__(kills.Kills)
    rig._setting = Setting()
    rig._arguments = SimpleNamespace(seconds=0.1)
    return rig._round(
        Server(quick=quick, status=status), random.Random(2), Promised(), lambda: False
    )[0]


@pytest.mark.parametrize("when", ["start", "shutdown"])
@pytest.mark.parametrize("quick", [True, False])
def test_a_kill_that_comes_too_late_says_so(
    monkeypatch: pytest.MonkeyPatch, when: str, *, quick: bool
) -> None:
    row = a_round(monkeypatch, when, quick=quick)
    assert row["when"] == (f"after {when}" if quick else when)


def test_a_start_that_fails_is_not_a_kill(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends before it can be killed."""

    def fails(server: Server) -> float:
        server.exit_status = 1
        raise stress.Failure("it ended")

    monkeypatch.setattr(Server, "start", fails)
    row = a_round(monkeypatch, "start", quick=False)
    assert (row["result"], row["detail"]) == (
        "crash",
        "crash: before the kill the server ended with status 1",
    )


def test_a_server_that_fails_while_it_shuts_down_has_crashed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = a_round(monkeypatch, "shutdown", quick=True, status=-signal.SIGSEGV)
    assert (row["result"], row["detail"]) == (
        "crash",
        "crash: before the kill the server ended with status -11",
    )


@pytest.mark.parametrize(("known", "result"), [(True, "known: undo number"), (False, "client")])
def test_an_error_of_a_client_is_a_failure_if_it_is_not_known(
    monkeypatch: pytest.MonkeyPatch, result: str, *, known: bool
) -> None:
    monkeypatch.setattr(kills, "undo_number_is_old", lambda *_arguments: known)
    assert a_round(monkeypatch, "load", "an error", quick=True)["result"] == result


def test_what_is_not_built_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """make run builds a server, and not what looks at its pages."""
    programs = tmp_path / "build" / "release" / "obj" / "runtime_output_directory"
    programs.mkdir(parents=True)
    monkeypatch.setattr(homes, "ROOT", tmp_path)
    of_run = homes.Homes(tmp_path / "run", "release")
    try:
        for missing in ("mysqld", "innochecksum"):
            with pytest.raises(SystemExit, match=f"has no {missing}; 'make release' builds it"):
                of_run.base(matrix.ENTRIES[0])
            (programs / missing).touch()
    finally:
        of_run.close()
