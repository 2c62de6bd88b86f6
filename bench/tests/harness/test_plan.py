# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The order of measurements."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from harness import plan
from harness.measurement import Measurement
from harness.report.blocks import Block
from harness.results import Results
from harness.scenario import Choice, Dataset, Point, Scenario
from harness.scenarios.io_bound import IoUpdate
from harness.server import Server
from harness.server_definition import ServerDefinition

_DATA = Dataset("data", 1)


def server(name: str) -> ServerDefinition:
    nowhere = Path("/nowhere")
    return ServerDefinition(name, name, nowhere, nowhere, nowhere, "9.")


class Three(Scenario):
    name = "three"
    title = about = "three"

    def points(self) -> list[Point]:
        first = Point(_DATA, {"n": 1}, 1)
        return [
            first,
            dataclasses.replace(first, parameters={"n": 2}),
            dataclasses.replace(first, parameters={"n": 3}, settings={"pool": "2G"}),
        ]

    def measure(self, server: Server, point: Point, into: Measurement) -> None: ...

    def report(self, results: Results) -> list[Block]:
        return []


def test_points_share_a_server_if_they_can() -> None:
    one, two, three = Three(Choice()).points()
    assert list(plan.groups([one, two, three])) == [(one, two), (three,)]
    fresh = dataclasses.replace(two, fresh=True)
    assert list(plan.groups([one, fresh, one])) == [(one,), (fresh,), (one,)]
    empty = dataclasses.replace(one, dataset=None)
    assert list(plan.groups([empty, empty])) == [(empty,), (empty,)]


def test_rounds_alternate_and_no_server_is_always_first() -> None:
    servers = [server(name) for name in "abc"]
    order = [
        (session.round, session.server.name, len(session.points))
        for session in plan.sessions(Three(Choice()), servers, 3)
    ]
    assert [name for number, name, _ in order if number == 1] == list("abcabc")
    assert [name for number, name, _ in order if number == 2] == list("bcabca")
    assert [name for number, name, _ in order if number == 3] == list("cabcab")
    assert [points for _, _, points in order[:6]] == [2, 2, 2, 1, 1, 1]


def test_the_variants_of_a_load_larger_than_the_pool() -> None:
    variants = {"pool_size": "2G", "instances": "4", "data_size": "22000M", "clients": "1"}
    variants |= {"tables": "8", "flush": "O_DIRECT", "counted": "no"}
    measured, disk = IoUpdate(Choice(variants=variants)).points()
    assert (measured.parameters["what"], disk.parameters["what"]) == ("load", "disk")
    assert measured.settings["buffer_pool_instances"] == 4
    assert measured.dataset is not None
    assert measured.dataset.name == f"sbtest-8x{22000 * 2**20 // 220 // 8}"
    points = IoUpdate(Choice(variants=variants | {"counted": "yes"})).points()
    assert [point.parameters["what"] for point in points] == ["load", "counted", "disk"]


def test_fio_draws_no_line_for_a_disk_that_is_held() -> None:
    points = IoUpdate(Choice(variants={"clients": "1", "disk": "3000"})).points()
    assert {point.parameters["what"] for point in points} == {"load", "counted"}
    assert {point.disk_ops for point in points if point.parameters["what"] == "load"} == {3000}
