# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Load, queries, counters and comparison in the server that is built, at scale factor 0.01."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import places, server_definition, settings
from harness.errors import BenchError
from harness.measurement import Measurement
from harness.report.blocks import Table, Text
from harness.results import POINT, Results
from harness.scenario import Choice, Point
from harness.scenarios.ssb import StarSchemaBenchmark
from harness.scenarios.ssb import scenario as ssb_scenario
from harness.server import Server
from harness.server_definition import ServerDefinition
from ssb import compare, generate, queries
from ssb.generate import Data
from ssb.load import DATABASE, LoadError, load
from ssb.scale import Scale

_RUNS = ("cold", "warm 3")
_CHOICE = {"scale": "0.01", "pool": "eighth", "old_blocks_time": "1000"}


def _definition() -> ServerDefinition:
    """Sluice as users run it, or, where that is not built, the debug server of make test."""
    release = server_definition.load("sluice")
    debug = {
        name: Path(str(getattr(release, name)).replace("build/release", "build/debug"))
        for name in ("mysqld", "basedir", "messages", "plugins")
    }
    for definition in (release, dataclasses.replace(release, **debug)):
        if definition.mysqld.is_file():
            return definition
    pytest.skip("no server is built: make release or make debug builds one")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture(scope="module")
def scenario(work: Path) -> StarSchemaBenchmark:
    return StarSchemaBenchmark(Choice(variants=_CHOICE, work=work))


@pytest.fixture(scope="module")
def point(scenario: StarSchemaBenchmark) -> Point:
    (point,) = scenario.points()
    return point


@pytest.fixture(scope="module")
def server(
    scenario: StarSchemaBenchmark, point: Point, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """A server with the data, up with the point's settings."""
    definition = _definition()
    server = Server(definition, tmp_path_factory.mktemp("server"), settings.load(places.SETTINGS))
    server.create()
    # A small log, so that the test needs little room.
    small = {"redo_log_capacity": "64M"}
    assert point.dataset is not None
    try:
        server.start({**point.dataset.settings, **small})
        scenario.prepare(server, point.dataset)
        server.stop()
        server.start({**point.settings, **small})
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def measured(
    scenario: StarSchemaBenchmark,
    server: Server,
    point: Point,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A run's directory with one measurement of two "servers", which is the same one twice."""
    run = tmp_path_factory.mktemp("run")
    into = Measurement()
    with pytest.MonkeyPatch.context() as patch:
        # A run takes a debug server a minute or two.
        patch.setattr(ssb_scenario, "RUNS", _RUNS)
        scenario.measure(server, point, into)
    for name in ("stock", "sluice"):
        directory = run / "raw" / "ssb" / name / "point"
        directory.mkdir(parents=True)
        (directory / POINT).write_text(
            '{"scale": "0.01", "pool": "eighth", "old_blocks_time": 1000}'
        )
        into.save(directory / "round-1")
    return run


@pytest.fixture
def results(measured: Path) -> Results:
    return Results(measured, "ssb", ["point"], ["stock", "sluice"], "stock")


def test_every_row_is_there_and_lineorder_has_the_keys_of_the_schema(
    server: Server, small_data: Data
) -> None:
    for file in small_data.files:
        (row,) = server.rows(f"SELECT COUNT(*) AS n FROM {file.table}", DATABASE)
        assert row["n"] == file.rows
    keys: dict[str, list[str]] = {}
    for row in server.rows("SHOW KEYS FROM lineorder", DATABASE):
        keys.setdefault(row["Key_name"], []).append(row["Column_name"])
    assert keys == {
        "lo_orderkey": ["lo_orderkey", "lo_linenumber"],
        "lo_custkey": ["lo_custkey"],
        "lo_suppkey": ["lo_suppkey"],
        "lo_partkey": ["lo_partkey"],
        "lo_orderdatekey": ["lo_orderdatekey"],
        "lo_commitdatekey": ["lo_commitdatekey"],
    }


def test_the_server_s_results_are_those_expected(results: Results, small_data: Data) -> None:
    answers = compare.from_frame(results.table("results").query("server == 'sluice'"))
    assert set(answers) == {*queries.QUERIES, *queries.FORCED_JOINS}
    assert not compare.differences(small_data.expected, answers, queries.QUERIES)
    assert answers["q1.1-fact-first"] == answers["q1.1-dimension-first"] == answers["q1.1"]
    assert results.table("wrong").empty


def test_the_pool_is_what_the_scenario_asked_for(results: Results, point: Point) -> None:
    figures = results.figures().query("server == 'sluice'").set_index("figure")["value"]
    assert figures["buffer pool"] == point.settings["buffer_pool_size"]
    assert min(figures["cold"], figures["warm 3"]) > 0


def test_runs_of_13_queries_and_the_forced_joins(results: Results) -> None:
    assert ssb_scenario.RUNS == ("cold", "warm 1", "warm 2", "warm 3")
    timings = results.table("queries").query("server == 'sluice'")
    runs = dict.fromkeys(_RUNS, 13)
    assert timings.groupby("run", sort=False).size().to_dict() == {**runs, "forced": 2}
    totals = results.figures().query("server == 'sluice'").set_index("figure")["value"]
    by_run = timings.groupby("run")["seconds"].sum()
    assert by_run["cold"] == pytest.approx(totals["cold"])


def test_the_lru_s_counters_are_saved_for_each_query(results: Results, server: Server) -> None:
    counters = results.table("counters").query("server == 'sluice'")
    assert set(counters["query"]) == {*queries.QUERIES, *queries.FORCED_JOINS}
    assert "INNODB_BUFFER_POOL_STATS" in set(counters["source"])
    if (server.definition.plugins / "lru_stats.so").exists():  # type: ignore[operator]
        young = counters.query("source == 'INNODB_LRU_STATS' and counter == 'PAGES_MADE_YOUNG'")
        assert len(young) == len(_RUNS) * 13 + 2
        assert (young["growth"] >= 0).all()


def test_the_plans_are_saved(results: Results) -> None:
    plans = results.table("plans").query("server == 'sluice' and query == 'q1.1-fact-first'")
    assert plans["table"].tolist() == ["lineorder", "dim_date"]


def test_the_report_can_be_drawn(scenario: StarSchemaBenchmark, results: Results) -> None:
    blocks = scenario.report(results)
    captions = [block.caption for block in blocks if isinstance(block, Table)]
    texts = [block.text for block in blocks if isinstance(block, Text)]
    assert any(caption.startswith("Seconds for the 13 queries") for caption in captions)
    assert any("every row of every query is the same on all servers" in text for text in texts)


def test_one_changed_row_in_the_server_is_found(
    scenario: StarSchemaBenchmark, server: Server, point: Point, tmp_path: Path
) -> None:
    """Last but one: it spoils the data, and puts them right again."""
    change = "UPDATE lineorder SET lo_revenue = lo_revenue {} 1 ORDER BY lo_orderkey LIMIT 20000"
    server.execute(change.format("+"), database=DATABASE)
    try:
        into = Measurement()
        scenario.measure(server, point, into)
    finally:
        server.execute(change.format("-"), database=DATABASE)
    into.save(tmp_path / "measured")
    wrong = (tmp_path / "measured" / "wrong.csv").read_text()
    assert "q2.1, row" in wrong
    assert "DuckDB has (" in wrong
    assert f"{server.name} has (" in wrong
    assert "q1.1," not in wrong  # asks for the price, which nobody touched


def test_a_file_that_is_cut_short_does_not_load(server: Server, tmp_path: Path) -> None:
    """Last: it loads anew."""
    data = generate.ensure(Scale.parse("0.01"), tmp_path / "data")
    part = data.path("part")
    part.write_bytes(part.read_bytes()[:1000])
    with server.connect(local_infile=True) as connection, pytest.raises(LoadError, match="part"):
        load(connection, data)


def test_variants_that_cannot_be_are_refused_by_name(tmp_path: Path) -> None:
    for variants, text in (
        ({"scale": "0"}, "scale factor 0 is not between"),
        ({"scale": "x"}, "scale factor 'x' is not a number"),
    ):
        with pytest.raises(BenchError, match=text):
            StarSchemaBenchmark(Choice(variants=variants, work=tmp_path))
    with pytest.raises(BenchError, match="pool is one of eighth, whole, not 'half'"):
        StarSchemaBenchmark(Choice(variants={"pool": "half"}, work=tmp_path)).points()


def test_points_and_what_they_need() -> None:
    scenario = StarSchemaBenchmark(Choice())
    points = scenario.points()
    assert [tuple(point.parameters.values()) for point in points] == [
        ("1", "eighth", 1000), ("1", "eighth", 0), ("1", "whole", 1000), ("1", "whole", 0)
    ]  # fmt: skip
    (dataset,) = {point.dataset.name: point.dataset for point in points if point.dataset}.values()
    assert dataset.name == "ssb-1"
    quick = StarSchemaBenchmark(Choice(quick=True)).points()[0]
    assert quick.parameters["scale"] == "0.1"
    for point in (*points, quick):
        assert point.fresh, "cold means that the server has just been started"
        assert point.settings["old_blocks_time"] == point.parameters["old_blocks_time"]
