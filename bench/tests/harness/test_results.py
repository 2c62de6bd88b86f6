# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Measurements on disk: whole or not at all, and read back in the order of the run."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from harness.measurement import Measurement
from harness.results import POINT, Results


def save(run: Path, server: str, clients: int, number: int, value: float) -> None:
    directory = run / "raw" / "load" / server / f"clients={clients}"
    directory.mkdir(parents=True, exist_ok=True)
    (directory / POINT).write_text(json.dumps({"clients": clients}))
    measurement = Measurement()
    measurement.figure("throughput", value, "1/s")
    measurement.table("rates", pd.DataFrame({"time": [1], "rate": [value]}))
    measurement.save(directory / f"round-{number}")


@pytest.fixture
def results(tmp_path: Path) -> Results:
    for server in ("stock", "sluice"):
        for clients in (2, 16, 4):
            for number in (1, 2):
                save(tmp_path, server, clients, number, 100 * clients + number)
    points = ["clients=2", "clients=4", "clients=16"]
    return Results(tmp_path, "load", points, ["stock", "sluice"], "stock")


def test_order_and_columns(results: Results) -> None:
    frame = results.figures()
    assert list(frame.columns) == ["server", "round", "clients", "figure", "value", "unit"]
    assert list(frame["server"].unique()) == ["stock", "sluice"]
    assert list(frame["clients"].unique()) == [2, 4, 16]
    assert results.table("rates")["rate"].iloc[0] == 201
    assert results.tables() == ["rates"]
    assert results.table("nothing").empty


def test_rounds_are_in_their_order(results: Results, tmp_path: Path) -> None:
    for number in (11, 10, 9):
        save(tmp_path, "stock", 2, number, number)
    assert [place.round for place in results.places()][:5] == [1, 2, 9, 10, 11]


def test_a_partial_measurement_does_not_count(results: Results, tmp_path: Path) -> None:
    before = len(results.figures())
    (tmp_path / "raw" / "load" / "stock" / "clients=2" / "round-3.partial").mkdir()
    assert len(results.figures()) == before


def test_an_old_partial_measurement_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "round-1.partial").mkdir()
    (tmp_path / "round-1.partial" / "left.csv").write_text("half")
    measurement = Measurement()
    measurement.figure("throughput", 1, "1/s")
    measurement.save(tmp_path / "round-1")
    assert [file.name for file in (tmp_path / "round-1").iterdir()] == ["figures.csv"]
    assert not (tmp_path / "round-1.partial").exists()


def test_names_are_used_once() -> None:
    measurement = Measurement()
    measurement.figure("throughput", 1, "1/s")
    with pytest.raises(ValueError, match="there already"):
        measurement.figure("throughput", 2, "1/s")
    with pytest.raises(ValueError, match="cannot name a file"):
        measurement.text("../escape", "")
