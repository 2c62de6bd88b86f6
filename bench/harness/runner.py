# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Runs the sessions of a plan: data directories, servers, measurements, what went wrong."""

from __future__ import annotations

import json
import shutil
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from harness import capacity, places
from harness.errors import BenchError
from harness.measurement import Measurement
from harness.plan import Session, measurement_directory, sessions
from harness.progress import Progress
from harness.results import POINT
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
    ) -> None:
        self._run = run
        self._servers = servers
        self._common = common
        self._data = data
        self._keep = keep_data

    def run(self, scenarios: Sequence[Scenario], rounds: dict[str, int]) -> None:
        work = [
            (session, missing)
            for scenario in scenarios
            for session in sessions(scenario, self._servers, rounds[scenario.name])
            if (missing := self._missing(session))
        ]
        progress = Progress(self._guesses(work))
        for place, scenario in enumerate(scenarios):
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
            server.start(points[0].settings, session.scenario.environment(server, points[0]))
            self._note(server)
            for point in points:
                self._measure(session, server, point, progress)
        except (BenchError, AssertionError) as error:
            for point in points:
                if not measurement_directory(self._run.path, session, point).exists():
                    self._failed(session, point, str(error))
        finally:
            server.stop()
            if dataset is None:
                shutil.rmtree(server.home, ignore_errors=True)

    def _measure(self, session: Session, server: Server, point: Point, progress: Progress) -> None:
        what = f"{session.scenario.name}, round {session.round}, {server.name}, {point.label}"
        progress.begin(what)
        into = Measurement()
        started = time.time()
        try:
            session.scenario.measure(server, point, into)
        except ScenarioSkipped as error:
            self._skipped(session, point, str(error))
        except Exception as error:
            traceback.print_exc()
            self._failed(session, point, f"{type(error).__name__}: {error}")
            # Whatever state it is in now is no place for the next point.
            raise BenchError(f"ended by the failure of {point.label}") from error
        else:
            into.figure("began", started, "s since 1970")
            directory = measurement_directory(self._run.path, session, point)
            directory.parent.mkdir(parents=True, exist_ok=True)
            (directory.parent / POINT).write_text(json.dumps(dict(point.parameters)) + "\n")
            into.save(directory)
        finally:
            progress.end(point.seconds)

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
        server = Server(session.server, self._data / session.server.name, self._common)
        points = []
        for point in session.points:
            if measurement_directory(self._run.path, session, point).exists():
                continue
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
