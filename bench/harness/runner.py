# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs a plan: data directories, servers, sessions or bursts, what went wrong."""

from __future__ import annotations

import contextlib
import json
import shutil
import time
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from harness import capacity, intervals, places
from harness.disk_limit import DiskLimit
from harness.errors import BenchError
from harness.interleaved import (
    ATTEMPTS,
    DECIDING,
    FOREIGN_SHARE,
    Foreign,
    Order,
    Precision,
    enough,
    freeze_others,
)
from harness.measurement import FIGURES, Measurement
from harness.plan import Session, groups, measurement_directory, sessions
from harness.progress import Progress
from harness.results import BASE, POINT
from harness.run_directory import Remark, RunDirectory
from harness.scenario import Dataset, Point, Scenario, ScenarioSkipped
from harness.server import Server
from harness.server_definition import ServerDefinition
from harness.settings import Neutral

_READY = "ready"  #: the file that says a data directory is complete


class Runner:
    """One scenario after the other. An interrupt stops the server that is up, and goes on up."""

    def __init__(
        self,
        run: RunDirectory,
        servers: Sequence[ServerDefinition],
        common: Neutral,
        data: Path,
        *,
        keep_data: bool,
        precision: Precision | None = None,
    ) -> None:
        self._run = run
        self._servers = servers
        self._common = common
        self._data = data
        self._keep = keep_data
        self._precision = precision or Precision()

    def run(self, scenarios: Sequence[Scenario], rounds: dict[str, int]) -> None:
        work = [
            (session, missing)
            for scenario in scenarios
            if not scenario.interleaved
            for session in sessions(scenario, self._servers, rounds[scenario.name])
            if (missing := self._missing(session))
        ]
        progress = Progress(self._guesses(work))
        for place, scenario in enumerate(scenarios):
            if scenario.interleaved:
                for part in groups(self._unknown(scenario, rounds[scenario.name])):
                    self._interleave(scenario, part, rounds[scenario.name])
            for session, points in work:
                if session.scenario is scenario:
                    self._session(session, points, progress)
            if not self._keep:
                self._drop_data(scenario, scenarios[place + 1 :])

    # One session

    def _session(self, session: Session, points: list[Point], progress: Progress) -> None:
        """A server up once for these points. What fails is noted, and the next goes on."""
        dataset = points[0].dataset
        server = Server(session.server, self._home(session.server, dataset), self._common)
        try:
            if dataset is None:
                server.create()
            else:
                self._provide(session, server, dataset, progress)
            with self._started(session.scenario, server, points[0]):
                for point in points:
                    session.scenario.warm_up(server, point)
                    self._measure(session, server, point, progress)
        except (BenchError, AssertionError) as error:
            for point in points:
                if not measurement_directory(self._run.path, session, point).exists():
                    self._failed(session, point, str(error))
        finally:
            server.stop()
            if dataset is None:
                shutil.rmtree(server.home, ignore_errors=True)

    @contextlib.contextmanager
    def _started(self, scenario: Scenario, server: Server, point: Point) -> Iterator[Server]:
        """The server with a point's settings, on the disk that the point asks for."""
        limit = None
        try:
            environment = {**point.environment, **scenario.environment(server, point)}
            server.start(point.settings, environment)
            self._note(server)
            if point.disk_ops is not None:
                limit = DiskLimit(server.pid, server.home, point.disk_ops)
            yield server
        finally:
            server.stop()
            if limit is not None:
                limit.release()

    # Bursts that alternate

    def _interleave(self, scenario: Scenario, part: Sequence[Point], least: int) -> None:
        """All servers up at once, each of the points in rounds until its interval is narrow."""
        dataset = part[0].dataset
        if dataset is None:
            raise BenchError(f"{scenario.name}: bursts need a data directory that goes on")
        with contextlib.ExitStack() as up:
            servers: list[Server] = []
            able: list[Server] = []
            # All directories first: to make one, those that are copies of the same are made anew,
            # which no server may be using.
            for definition in self._servers:
                session = Session(scenario, definition, 1, tuple(part))
                if not self._able(session):
                    continue
                server = Server(definition, self._home(definition, dataset), self._common)
                with self._failing(part, session):
                    self._provide(session, server, dataset, Progress([dataset.seconds]))
                    able.append(server)
            for server in able:
                session = Session(scenario, server.definition, 1, tuple(part))
                with self._failing(part, session):
                    servers.append(up.enter_context(self._started(scenario, server, part[0])))
                    server.freeze()
            for point in part:
                self._bursts(scenario, servers, point, least if point.compared else 1)

    @contextlib.contextmanager
    def _failing(self, points: Sequence[Point], session: Session) -> Iterator[None]:
        """What goes wrong inside fails all points of this server; the others go on."""
        try:
            yield
        except (BenchError, AssertionError) as error:
            for point in points:
                self._failed(session, point, str(error))

    def _bursts(
        self, scenario: Scenario, servers: Sequence[Server], point: Point, least: int
    ) -> None:
        """Rounds of one point. A server that fails at it is out of it, the others go on."""
        able = []
        for server in servers:
            session = Session(scenario, server.definition, 1, (point,))
            if not server.running or not self._able(session):
                continue
            freeze_others(servers, server)
            with contextlib.suppress(BenchError), self._blamed(session, point):
                scenario.warm_up(server, point)
                able.append(server)
        precision = Precision(self._precision.width, self._precision.minutes, least)
        order, spent, number = Order(seed=1), 0.0, 0
        while able:
            ratios = self._deciding(scenario, able, point)
            late = spent >= 60 * precision.minutes
            if number >= least and (late or self._known(point, ratios, precision)):
                break
            number += 1
            print(
                f"bench: {scenario.name}, {point.label}, round {number}{_so_far(ratios)}",
                flush=True,
            )
            began = time.monotonic()
            for server in order.shuffled(able):
                session = Session(scenario, server.definition, number, (point,))
                if measurement_directory(self._run.path, session, point).exists():
                    continue
                try:
                    freeze_others(servers, server)
                    self._burst(session, server, point)
                except BenchError:
                    able.remove(server)
            spent += time.monotonic() - began

    def _burst(self, session: Session, server: Server, point: Point) -> None:
        """One burst, again if something else had a part of the machine."""
        for attempt in range(1, ATTEMPTS + 1):
            into = Measurement()
            with self._blamed(session, point), Foreign(server) as foreign:
                session.scenario.measure(server, point, into)
            if foreign.share <= FOREIGN_SHARE or attempt == ATTEMPTS:
                break
            print(
                f"bench: others had {foreign.share:.0%} of the machine; the burst is repeated",
                flush=True,
            )
        into.figure("foreign_share", foreign.share, "share")
        self._save(session, point, into)

    def _unknown(self, scenario: Scenario, least: int) -> list[Point]:
        """Points that need rounds: too few, or an interval too wide even if its time was up."""
        servers = [Server(one, self._data / one.name, self._common) for one in self._servers]
        precision = Precision(self._precision.width, self._precision.minutes, least)
        points = []
        for point in scenario.points():
            rounds = min(len(self._figures(scenario, server, point)) for server in servers)
            ratios = self._deciding(scenario, servers, point)
            if rounds < (least if point.compared else 1) or not self._known(
                point, ratios, precision
            ):
                points.append(point)
        return points

    @staticmethod
    def _known(point: Point, ratios: Sequence[Sequence[float]], precision: Precision) -> bool:
        return not point.compared or enough(ratios, precision)

    def _deciding(
        self, scenario: Scenario, servers: Sequence[Server], point: Point
    ) -> list[list[float]]:
        """Ratios to stock, or else the first: a list for each other server and deciding figure."""
        base_first = sorted(servers, key=lambda server: server.name != BASE)
        first, *others = (self._figures(scenario, server, point) for server in base_first)
        return [
            [
                other[number][figure] / values[figure]
                for number, values in first.items()
                if number in other and values.get(figure) and figure in other[number]
            ]
            for other in others
            for figure in DECIDING
        ]

    def _figures(
        self, scenario: Scenario, server: Server, point: Point
    ) -> dict[int, dict[str, float]]:
        """Of each round that is on disk, its figures by name."""
        session = Session(scenario, server.definition, 0, (point,))
        found = {}
        for directory in measurement_directory(self._run.path, session, point).parent.glob(
            "round-*"
        ):
            if directory.suffix != ".partial":
                frame = pd.read_csv(directory / FIGURES).set_index("figure")["value"]
                found[int(directory.name.removeprefix("round-"))] = frame.to_dict()
        return found

    def _save(self, session: Session, point: Point, into: Measurement) -> None:
        into.figure("ended", time.time(), "s since 1970")
        directory = measurement_directory(self._run.path, session, point)
        directory.parent.mkdir(parents=True, exist_ok=True)
        (directory.parent / POINT).write_text(json.dumps(dict(point.parameters)) + "\n")
        into.save(directory)

    def _measure(self, session: Session, server: Server, point: Point, progress: Progress) -> None:
        what = f"{session.scenario.name}, round {session.round}, {server.name}, {point.label}"
        progress.begin(what)
        into = Measurement()
        try:
            with self._blamed(session, point):
                session.scenario.measure(server, point, into)
        except ScenarioSkipped as error:
            self._skipped(session, point, str(error))
        else:
            self._save(session, point, into)
        finally:
            progress.end(point.seconds)

    @contextlib.contextmanager
    def _blamed(self, session: Session, point: Point) -> Iterator[None]:
        """Whatever goes wrong inside is noted; then it is a BenchError."""
        try:
            yield
        except ScenarioSkipped:
            raise
        except Exception as error:
            traceback.print_exc()
            self._failed(session, point, f"{type(error).__name__}: {error}")
            # Whatever state the server is in now is no place for the next point.
            raise BenchError(f"ended by the failure of {point.label}") from error

    # Data directories

    def _provide(
        self, session: Session, server: Server, dataset: Dataset, progress: Progress
    ) -> None:
        """The data directory as prepare() left it, made now if it is not there."""
        if (server.home / _READY).exists():
            return
        filled = self._source(server, dataset)
        # Whatever has worked on its directory since, a copy of that would not be the same.
        shutil.rmtree(filled.home, ignore_errors=True)
        progress.begin(f"{session.scenario.name}, {filled.name}: filling {dataset.name}")
        filled.create()
        filled.start(dataset.settings)
        self._note(filled)
        try:
            session.scenario.prepare(filled, dataset)
        finally:
            filled.stop()
        # Their index has absolute paths, so a copy would work on the logs of the other server.
        assert not any(filled.binlog_directory.iterdir()), "data_of: filled with binary logs"
        for other in self._servers:
            if self._source_name(other) == filled.name and other.name != filled.name:
                home = self._home(other, dataset)
                shutil.rmtree(home, ignore_errors=True)
                shutil.copytree(filled.home, home)
                (home / _READY).touch()
        (filled.home / _READY).touch()
        progress.end(dataset.seconds)

    def _source(self, server: Server, dataset: Dataset) -> Server:
        """The server that fills the directory of this one: itself, or one of the run."""
        name = self._source_name(server.definition)
        definition = next(one for one in self._servers if one.name == name)
        return Server(definition, self._home(definition, dataset), self._common)

    def _source_name(self, server: ServerDefinition) -> str:
        known = {one.name for one in self._servers}
        return server.data_of if server.data_of in known else server.name

    def _home(self, server: ServerDefinition, dataset: Dataset | None) -> Path:
        return self._data / server.name / (dataset.name if dataset else "empty")

    def _drop_data(self, scenario: Scenario, later: Sequence[Scenario]) -> None:
        """Data directories that no later scenario of this run has a use for."""
        needed = {dataset.name for one in later for dataset in capacity.datasets(one)}
        for dataset in capacity.datasets(scenario):
            for server in self._servers if dataset.name not in needed else ():
                shutil.rmtree(self._home(server, dataset), ignore_errors=True)

    # What is to be done

    def _missing(self, session: Session) -> list[Point]:
        """Points without a measurement that this server can do."""
        return [
            point
            for point in self._able(session)
            if not measurement_directory(self._run.path, session, point).exists()
        ]

    def _able(self, session: Session) -> list[Point]:
        """Points that this server can do."""
        server = Server(session.server, self._data / session.server.name, self._common)
        points = []
        for point in session.points:
            try:
                session.scenario.check(server, point)
            except ScenarioSkipped as error:
                self._skipped(session, point, str(error))
            else:
                points.append(point)
        return points

    def _guesses(self, work: list[tuple[Session, list[Point]]]) -> list[float]:
        guesses = [point.seconds for _, points in work for point in points]
        filled = {
            (self._source_name(session.server), points[0].dataset.name): points[0].dataset.seconds
            for session, points in work
            if points[0].dataset
            and not (self._home(session.server, points[0].dataset) / _READY).exists()
        }
        return guesses + list(filled.values())

    # Remarks

    def _note(self, server: Server) -> None:
        for setting, reason in server.not_told.items():
            known = self._run.content["server_facts"].get(server.name, {}).get("not_told", {})
            if setting not in known:
                print(f"bench: {server.name} cannot be told {setting}: {reason}", flush=True)
        variables = server.variables("version%")
        self._run.note_server(
            server.name,
            {
                "version": variables.get("version", ""),
                "comment": variables.get("version_comment", ""),
                "switches": list(server.definition.switches),
                "not_told": dict(server.not_told),
            },
        )

    def _skipped(self, session: Session, point: Point, reason: str) -> None:
        remark = Remark(
            session.scenario.name, session.server.name, point.label, None, "skipped", reason
        )
        if remark not in self._run.remarks:
            print(f"bench: {remark.server} skips {remark.scenario}, {point.label}: {reason}")
            self._run.remark(remark)

    def _failed(self, session: Session, point: Point, reason: str) -> None:
        where = (session.scenario.name, session.server.name, point.label, session.round)
        known = [(r.scenario, r.server, r.point, r.round) for r in self._run.remarks]
        if where not in known:
            print(f"bench: FAILED: {', '.join(map(str, where))}: {reason}", flush=True)
            # The report is for others, to whom this checkout's place says nothing.
            shown = reason.replace(f"{places.WORK}/", "").replace(f"{places.ROOT}/", "")
            self._run.remark(Remark(*where, "failed", shown))


def _so_far(ratios: Sequence[Sequence[float]]) -> str:
    """Widths of the deciding intervals, for the line on the terminal."""
    if not ratios or min(map(len, ratios)) < 3:
        return ""
    widths = ", ".join(f"{intervals.ratio(values).width:.1%}" for values in ratios)
    return f"; widths of the intervals {widths}"
