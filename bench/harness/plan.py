# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Which measurements a run has, in which order: rounds that alternate between the servers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.scenario import Point, Scenario
from harness.server_definition import ServerDefinition


@dataclass(frozen=True)
class Session:
    """One life of one server: the points that it is up for in one round."""

    scenario: Scenario
    server: ServerDefinition
    round: int  #: from 1
    points: tuple[Point, ...]


def groups(points: Sequence[Point]) -> Iterator[tuple[Point, ...]]:
    """Neighbours that can share a running server: same dataset and settings, none fresh."""
    group: list[Point] = []
    for point in points:
        if group and not _together(group[-1], point):
            yield tuple(group)
            group = []
        group.append(point)
    if group:
        yield tuple(group)


def _together(one: Point, other: Point) -> bool:
    shareable = not (one.fresh or other.fresh) and one.dataset is not None
    return shareable and _start(one) == _start(other)


def _start(point: Point) -> tuple[object, ...]:
    """All that decides how its server is started."""
    return point.dataset, point.settings, point.environment, point.disk_ops


def sessions(
    scenario: Scenario, servers: Sequence[ServerDefinition], rounds: int
) -> Iterator[Session]:
    """All sessions of a scenario. No server is always first: the order turns each round."""
    parts = list(groups(scenario.points()))
    for number in range(1, rounds + 1):
        turn = (number - 1) % len(servers)
        for part in parts:
            for server in [*servers[turn:], *servers[:turn]]:
                yield Session(scenario, server, number, part)


def measurement_directory(run: Path, session: Session, point: Point) -> Path:
    """raw/<scenario>/<server>/<point>/round-<n>; there when the measurement is complete."""
    raw = run / "raw" / session.scenario.name / session.server.name
    return raw / point.directory / f"round-{session.round}"
