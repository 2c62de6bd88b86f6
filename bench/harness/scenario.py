# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What a scenario is. One module in harness/scenarios/ holds one subclass of Scenario.

The runner asks a scenario for its points and does the rest:

    for each round:
        for each group of points with the same dataset, settings and environment:
            for each server (the order is turned by one place every round):
                start the server on its data directory for that dataset
                for each point of the group: scenario.measure(server, point)
                stop the server

With `interleaved`, all servers are up at once on data directories of their own, and

    for each group of points:
        for each life, until all intervals are narrow:
            start the servers, each on the data directory that another one had before
            for each point of the group: scenario.warm_up(server, point) on each server
                for each of three rounds: the servers in random order:
                    scenario.measure(server, point), a burst of seconds, the others frozen

The data directory of a dataset is made once a server, by prepare(), and kept.
A measurement that is complete is on disk before the next one begins; a run that
was interrupted goes on with the first one that is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path

    from harness.measurement import Measurement
    from harness.report.blocks import Block
    from harness.results import Results
    from harness.server import Server

Value = str | int | float


class ScenarioSkipped(Exception):
    """A server cannot do what a scenario or a point asks; the text goes into the report."""


@dataclass(frozen=True)
class Choice:
    """What the user asked for that a scenario may look at."""

    quick: bool = False  #: QUICK=1: small data, short points: does it work, not how fast
    seconds: int | None = None  #: SECONDS=: length of a timed point; None: the scenario's own
    variants: Mapping[str, str] = field(default_factory=dict)  #: VARIANT="name=value ..."
    work: Path | None = None  #: build/bench: downloads and compiled helpers go below it


@dataclass(frozen=True)
class Dataset:
    """A filled data directory that several points share. Made once for each server."""

    name: str  #: also the directory's name; the size belongs into it, "sbtest-1x100000"
    disk_bytes: int  #: room a server needs for it while points run, but the redo log
    memory_bytes: int = 0  #: what a server on it takes, mostly the buffer pool
    seconds: float = 60  #: a guess of how long prepare() takes, for the progress line
    settings: Mapping[str, Value] = field(default_factory=dict)  #: settings while it is filled


@dataclass(frozen=True)
class Point:
    """One thing that is measured once a round on each server."""

    dataset: Dataset | None  #: None: an empty data directory, made anew for each measurement
    parameters: Mapping[str, Value]  #: columns that tell it from others: {"clients": 16}
    seconds: float  #: a guess of how long measure() takes, for the progress line
    settings: Mapping[str, Value] = field(default_factory=dict)  #: neutral names, settings.toml
    fresh: bool = False  #: start the server anew for this point, share it with no other
    environment: Mapping[str, str] = field(default_factory=dict)  #: of the server's process
    disk_ops: int | None = None  #: reads, and writes, a second that the server's disk is held to
    compared: bool = True  #: False: once a round's worth is enough, no ratio is drawn from it

    @property
    def label(self) -> str:
        """A name for messages: clients=16,tables=1."""
        return ",".join(f"{name}={value}" for name, value in self.parameters.items()) or "all"

    @property
    def directory(self) -> str:
        """A name for directories."""
        return self.label.replace("/", "_")


class Scenario(ABC):
    """Subclass it in harness/scenarios/<name>.py and add it to scenarios/__init__.py."""

    name: ClassVar[str]  #: what SCENARIO= calls it
    title: ClassVar[str]  #: one line, heads its part of the report
    about: ClassVar[str]  #: what is run and what each figure means; the report prints it
    variants: ClassVar[Mapping[str, str]] = {}  #: names that VARIANT= may set, and what they do
    #: Tables that report() needs beside the figures: they are kept with a committed result.
    report_tables: ClassVar[tuple[str, ...]] = ()
    rounds: ClassVar[int] = 5  #: rounds unless ROUNDS= says otherwise; 1 for what does not vary
    #: Bursts that alternate between running servers; `rounds` are the least then. For what takes
    #: minutes to show (checkpoints, purge, recovery) a server has the machine for itself instead.
    interleaved: ClassVar[bool] = False

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    @abstractmethod
    def points(self) -> Sequence[Point]:
        """All points, in the order in which they run. Depends on self.choice alone."""

    def needs(self) -> Sequence[str]:
        """Programs that must be there, as Debian names their packages: sysbench, fio."""
        return ()

    def check(self, server: Server, point: Point) -> None:
        """Raises ScenarioSkipped if this server cannot do this point. No server is up yet."""

    def environment(self, server: Server, point: Point) -> Mapping[str, str]:
        """Environment variables to start the server with, beside its own."""
        return {}

    def prepare(self, server: Server, dataset: Dataset) -> None:
        """Fill the data directory. The server is up; it is stopped cleanly afterwards."""

    def warm_up(self, server: Server, point: Point) -> None:
        """Bring the server into the state that is to be measured; once before its bursts."""

    @abstractmethod
    def measure(self, server: Server, point: Point, into: Measurement) -> None:
        """Run the point once; the server is up with the point's settings.

        Put figures, series, tables and raw texts into `into`. The server may be
        stopped, killed and started again (server.restart()). Any exception fails
        this measurement: nothing of it is kept, the run goes on with the next.
        """

    @abstractmethod
    def report(self, results: Results) -> Sequence[Block]:
        """Plots, tables and texts out of what was measured, from the CSV files alone."""
