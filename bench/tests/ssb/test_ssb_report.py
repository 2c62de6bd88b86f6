# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The report from made-up measurements: no server is needed for what it has to notice."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.measurement import Measurement
from harness.report.blocks import Block, Plot, Table, Text
from harness.results import POINT, Results
from harness.scenarios.ssb import report
from ssb import compare, queries

_SERVERS = ["stock", "sluice"]
_ROUNDS = (1, 2)
_RUNS = ("cold", "warm 1", "warm 2", "warm 3")


def _measurement(server: str, old_blocks_time: int, number: int, *, odd: bool) -> Measurement:
    """sluice takes half the time of stock, and 1000 three times that of 0."""
    into = Measurement()
    seconds = (2 if server == "stock" else 1) * (3 if old_blocks_time else 1) * number
    for run in _RUNS:
        into.figure(run, 13 * seconds, "s")
    into.figure("data", 1 << 30, "bytes")
    into.figure("buffer pool", 128 << 20, "bytes")
    timed = [(run, query, seconds, 1) for run in _RUNS for query in queries.QUERIES]
    timed += [("forced", query, seconds, 1) for query in queries.FORCED_JOINS]
    into.table("queries", pd.DataFrame(timed, columns=["run", "query", "seconds", "rows"]))
    grown = [
        ("STATUS", "", "Innodb_pages_read", 10, 110, 100),
        ("INNODB_BUFFER_POOL_STATS", "0", "PAGES_MADE_YOUNG", 5, 12, 7),
    ]
    if server == "sluice":
        grown += [
            ("INNODB_LRU_STATS", "0", "PAGES_EVICTED_OLD", 1, 4, 3),
            ("INNODB_LRU_STATS", "0", "READ_AHEAD_EVICTED", 1, 1, 0),
            ("INNODB_LRU_WHATIF", "0/old_blocks_time=0", "PAGES_READ", 7, 4321, 4314),
        ]
    columns = ["run", "query", "source", "row", "counter", "before", "after", "growth"]
    lines = [(run, query, *line) for run, query, _, _ in timed for line in grown]
    into.table("counters", pd.DataFrame(lines, columns=columns))
    first = "dim_date" if server == "stock" or not odd else "lineorder"
    plans = [(run, query, first, "PRIMARY") for run, query, _, _ in timed]
    into.table("plans", pd.DataFrame(plans, columns=["run", "query", "table", "key"]))
    answers = {query: compare.canonical([(1993, 500)]) for _, query, *_ in timed}
    wrong = []
    if odd and server == "sluice" and number == 2:
        answers["q3.1"] = compare.canonical([(1993, 501)])
        wrong = [("q3.1", "q3.1, row 1: DuckDB has (1993, 500), sluice has (1993, 501)")]
    into.table("results", compare.to_frame(answers))
    into.table("wrong", pd.DataFrame(wrong, columns=["query", "what"]))
    return into


def _blocks(run: Path, *, odd: bool) -> list[Block]:
    points = []
    for old_blocks_time in (1000, 0):
        parameters = {"scale": "1", "pool": "eighth", "old_blocks_time": old_blocks_time}
        points.append(f"point-{old_blocks_time}")
        for server in _SERVERS:
            directory = run / "raw" / "ssb" / server / points[-1]
            directory.mkdir(parents=True)
            (directory / POINT).write_text(json.dumps(parameters))
            for number in _ROUNDS:
                into = _measurement(server, old_blocks_time, number, odd=odd)
                into.save(directory / f"round-{number}")
    return list(report.blocks(Results(run, "ssb", points, _SERVERS, "stock")))


@pytest.fixture
def alike(tmp_path: Path) -> list[Block]:
    return _blocks(tmp_path, odd=False)


@pytest.fixture
def unlike(tmp_path: Path) -> list[Block]:
    return _blocks(tmp_path, odd=True)


def _table(blocks: list[Block], beginning: str) -> pd.DataFrame:
    (table,) = (
        block.frame
        for block in blocks
        if isinstance(block, Table) and block.caption.startswith(beginning)
    )
    return table


def _texts(blocks: list[Block]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def test_totals_come_with_their_range(alike: list[Block]) -> None:
    table = _table(alike, "Seconds for the 13 queries")
    row = table[(table["old_blocks_time"] == 1000) & (table["figure"] == "cold")].iloc[0]
    assert row["stock"] == "117 [78 – 156]"
    assert len(table) == 2 * 4


def test_the_size_of_the_pool_is_shown_beside_that_of_the_data(alike: list[Block]) -> None:
    table = _table(alike, "Tables and keys").set_index("figure")
    assert table.loc["data", "stock"].tolist() == ["1 GiB [1 GiB – 1 GiB]"] * 2
    assert set(table.loc["buffer pool", "sluice"]) == {"128 MiB [128 MiB – 128 MiB]"}


def test_ratios_are_of_the_same_round(alike: list[Block]) -> None:
    table = _table(alike, "Seconds divided by those of stock")
    assert set(table["sluice"]) == {"0.500 [0.500 – 0.500]"}


def test_what_old_blocks_time_costs(alike: list[Block]) -> None:
    table = _table(alike, "Seconds at innodb_old_blocks_time=1000")
    assert table["stock"].tolist() == ["3.000 [3.000 – 3.000]"] * 4


def test_sluice_s_counters_are_sluice_s_alone_and_idle_ones_are_left_out(
    alike: list[Block],
) -> None:
    table = _table(alike, "INNODB_LRU_STATS")
    assert "stock" not in table.columns
    assert set(table["figure"]) == {"PAGES_EVICTED_OLD"}
    assert set(table["sluice"]) == {f"{3 * 13} [{3 * 13} – {3 * 13}]"}


def test_a_prediction_stands_beside_what_was_read(alike: list[Block]) -> None:
    said = _table(alike, "The what-if prediction")
    assert set(said["after"]) == {4321}
    assert set(said["row"]) == {"0/old_blocks_time=0"}
    read = _table(alike, "What each setting really did")
    assert set(read[read["run"] == "cold"]["pages read"]) == {100 * 13}


def test_the_same_results_and_plans_are_said_to_be_the_same(alike: list[Block]) -> None:
    assert "every row of every query is the same on all servers" in _texts(alike)
    assert "every server joined the tables of each query in the same" in _texts(alike)


def test_a_row_that_differs_is_named_and_so_is_a_plan(unlike: list[Block]) -> None:
    assert "RESULTS DIFFER" in _texts(unlike)
    wrong = _table(unlike, "Against what DuckDB computes")
    assert set(wrong["server"]) == {"sluice"}
    assert set(wrong["round"]) == {2}
    between = _table(unlike, "Between servers")
    assert set(between["what"]) == {"q3.1, row 1: stock has (1993, 500), sluice has (1993, 501)"}
    plans = _table(unlike, "Queries that were not always planned alike")
    assert set(plans["plan"]) == {"dim_date (PRIMARY)", "lineorder (PRIMARY)"}


def test_names_of_plots_are_unique(alike: list[Block]) -> None:
    names = [block.name for block in alike if isinstance(block, Plot)]
    assert len(names) == len(set(names)) == 4
