# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs a plan: data directories, servers, sessions or bursts, what went wrong."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
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
    LIFE,
    Foreign,
    Order,
    Precision,
    enough,
    freeze_others,
    moved_on,
    read_once,
)
from harness.intervals import Ratio
from harness.measurement import FIGURES, LIFE_FIGURE, Measurement
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
        """Lives of all servers: in each, some rounds of every point that is not known yet."""
        dataset = part[0].dataset
        if dataset is None:
            raise BenchError(f"{scenario.name}: bursts need a data directory that goes on")
        able = self._provided(scenario, part, dataset)
        for definition in able:
            read_once(self._home(definition, dataset))
        spent = {point.label: 0.0 for point in part}
        failed: set[tuple[str, str]] = set()  # point, server
        order, life, missing = Order(seed=1), self._lives(scenario, part), list(part)
        while missing:
            life += 1
            with contextlib.ExitStack() as up:
                servers: list[Server] = []
                for definition in able:
                    home = self._home(self._in_its_place(definition, able, life), dataset)
                    server = Server(definition, home, self._common)
                    session = Session(scenario, definition, 1, tuple(missing))
                    try:
                        started = self._started(scenario, server, missing[0])
                        servers.append(up.enter_context(started))
                        server.freeze()
                    except (BenchError, AssertionError) as error:
                        for point in missing:
                            self._failed(session, point, str(error))
                            failed.add((point.label, definition.name))
                for point in missing:
                    fit = [one for one in servers if (point.label, one.name) not in failed]
                    fit = [one for one in fit if self._able(_alone(scenario, one, point))]
                    began = time.monotonic()
                    ended = self._bursts(scenario, servers, fit, point, order, life, least)
                    spent[point.label] += time.monotonic() - began
                    failed |= {(point.label, name) for name in ended}
            missing = [
                point
                for point in missing
                if self._wanted(scenario, able, failed, point, spent[point.label], least)
            ]

    def _provided(
        self, scenario: Scenario, part: Sequence[Point], dataset: Dataset
    ) -> list[ServerDefinition]:
        """The servers that can do any of it, each with a data directory.

        All directories before any start: to make one, those that are copies of the same are made
        anew, which no server may be using.
        """
        able = []
        for definition in self._servers:
            session = Session(scenario, definition, 1, tuple(part))
            if not self._able(session):
                continue
            server = Server(definition, self._home(definition, dataset), self._common)
            try:
                self._provide(session, server, dataset, Progress([dataset.seconds]))
                able.append(definition)
            except (BenchError, AssertionError) as error:
                for point in part:
                    self._failed(session, point, str(error))
        return able

    def _in_its_place(
        self, definition: ServerDefinition, able: Sequence[ServerDefinition], life: int
    ) -> ServerDefinition:
        """Whose data directory a server has in a life: they move on among copies of the same."""
        source = self._source_name(definition)
        alike = [one for one in able if self._source_name(one) == source]
        return moved_on(alike, life)[alike.index(definition)]

    def _wanted(
        self,
        scenario: Scenario,
        able: Sequence[ServerDefinition],
        failed: set[tuple[str, str]],
        point: Point,
        spent: float,
        least: int,
    ) -> bool:
        """Does a point need another life?"""
        servers = [
            Server(one, self._data / one.name, self._common)
            for one in able
            if (point.label, one.name) not in failed
        ]
        if not servers:
            return False
        precision = self._precision_of(point, least)
        if self._rounds(scenario, servers, point) < precision.rounds:
            return True
        late = spent >= 60 * precision.minutes
        return not (late or self._known(point, self._deciding(scenario, servers, point), precision))

    def _bursts(
        self,
        scenario: Scenario,
        servers: Sequence[Server],
        able: Sequence[Server],
        point: Point,
        order: Order,
        life: int,
        least: int,
    ) -> list[str]:
        """Rounds of one point in one life. A server that fails is out of it; names of those."""
        rest, ended = [], []
        for server in able:
            freeze_others(servers, server)
            try:
                with self._blamed(_alone(scenario, server, point), point):
                    scenario.warm_up(server, point)
                rest.append(server)
            except BenchError:
                ended.append(server.name)
        done = self._rounds(scenario, rest, point) if rest else 0
        wanted = self._precision_of(point, least).rounds
        rounds = min(LIFE, wanted - done) if done < wanted else LIFE
        last: Server | None = None
        for number in range(done + 1, done + rounds + 1):
            ratios = self._deciding(scenario, rest, point)
            print(
                f"bench: {scenario.name}, {point.label}, round {number}{_so_far(ratios)}",
                flush=True,
            )
            for server in order.shuffled(rest, after=last):
                session = Session(scenario, server.definition, number, (point,))
                if measurement_directory(self._run.path, session, point).exists():
                    continue
                try:
                    freeze_others(servers, server)
                    self._burst(session, server, point, life)
                    last = server
                except BenchError:
                    rest.remove(server)
                    ended.append(server.name)
        return ended

    def _burst(self, session: Session, server: Server, point: Point, life: int) -> None:
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
        into.figure(LIFE_FIGURE, life, "start")
        self._save(session, point, into)

    def _unknown(self, scenario: Scenario, least: int) -> list[Point]:
        """Points that need rounds: too few, or an interval too wide even if its time was up."""
        return [
            point
            for point in scenario.points()
            if self._wanted(scenario, self._servers, set(), point, 0, least)
        ]

    def _precision_of(self, point: Point, least: int) -> Precision:
        rounds = least if point.compared else 1
        return Precision(self._precision.width, self._precision.minutes, rounds)

    @staticmethod
    def _known(point: Point, ratios: Sequence[Ratio], precision: Precision) -> bool:
        return not point.compared or enough(ratios, precision)

    def _rounds(self, scenario: Scenario, servers: Sequence[Server], point: Point) -> int:
        """Rounds that all of these have done: those before the first that one lacks."""
        done = [self._figures(scenario, server, point) for server in servers]
        number = 1
        while all(number in figures for figures in done):
            number += 1
        return number - 1

    def _lives(self, scenario: Scenario, points: Sequence[Point]) -> int:
        """Lives that a run that is continued has had."""
        lives = [
            figures.get(LIFE_FIGURE, 0)
            for definition in self._servers
            for point in points
            for figures in self._figures(
                scenario, Server(definition, self._data / definition.name, self._common), point
            ).values()
        ]
        return int(max(lives, default=0))

    def _deciding(self, scenario: Scenario, servers: Sequence[Server], point: Point) -> list[Ratio]:
        """Ratios to stock, or else the first: one for each other server and deciding figure."""
        base_first = sorted(servers, key=lambda server: server.name != BASE)
        first, *others = (self._figures(scenario, server, point) for server in base_first)
        ratios = []
        for other, figure in itertools.product(others, DECIDING):
            rounds = [
                (other[number][figure] / values[figure], values.get(LIFE_FIGURE, -number))
                for number, values in first.items()
                if number in other and values.get(figure) and figure in other[number]
            ]
            if rounds:
                ratios.append(intervals.ratio(*zip(*rounds, strict=True)))
        return ratios

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
        # A copy is in the page cache only, and each direct read of it would write there first.
        os.sync()
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


def _alone(scenario: Scenario, server: Server, point: Point) -> Session:
    """One point on one server, for what asks by session."""
    return Session(scenario, server.definition, 1, (point,))


def _so_far(ratios: Sequence[Ratio]) -> str:
    """Widths of the deciding intervals, for the line on the terminal."""
    if not ratios or any(math.isinf(one.width) for one in ratios):
        return ""
    return f"; widths of the intervals {', '.join(f'{one.width:.1%}' for one in ratios)}"
