# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The smallest data there is, made once for all tests."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import pytest

from ssb import generate, queries
from ssb.generate import Data
from ssb.scale import Scale

Tables = dict[str, pd.DataFrame]


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Data:
    """Scale factor 0.01."""
    return generate.ensure(Scale.parse("0.01"), tmp_path_factory.mktemp("ssb") / "data")


@pytest.fixture(scope="session")
def tables(small_data: Data) -> Tables:
    return _read(small_data)


@pytest.fixture(scope="session")
def read_tables() -> Callable[[Data], Tables]:
    """For data of another scale factor."""
    return _read


def _read(data: Data) -> Tables:
    """The files as pandas reads them, with the columns that schema.sql names."""
    tables = {}
    for statement in queries.schema():
        name, *lines = statement.splitlines()
        table = name.split()[2]
        words = [line.split()[0] for line in lines]
        columns = [word for word in words if word[0].islower()]
        frame = pd.read_csv(data.path(table), sep="|", header=None, quoting=3)
        assert len(frame.columns) == len(columns), table
        tables[table] = frame.set_axis(columns, axis="columns")
    return tables
