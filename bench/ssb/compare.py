# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Are the rows of two servers the same? If not: which query, and the first row that differs.

    python -m ssb.compare LEFT.csv RIGHT.csv

compares two files of results (results.csv of a measurement, or expected.csv beside the
data); exit code 1 and one line a query if anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import zip_longest
from pathlib import Path

import pandas as pd

Row = tuple[str | None, ...]
Results = Mapping[str, Sequence[Row]]  #: rows by the query's name


@dataclass(frozen=True)
class Difference:
    """One query whose rows differ; `row` counts from 1 in the canonical order."""

    query: str
    row: int
    left: Row | None  #: None: the left side has no such row
    right: Row | None

    def describe(self, left: str, right: str) -> str:
        """A line for people; left and right are the names of the two sides."""
        return (
            f"{self.query}, row {self.row}: {left} has {_show(self.left)}, "
            f"{right} has {_show(self.right)}"
        )


def canonical(rows: Iterable[Sequence[object]]) -> list[Row]:
    """Rows as text, sorted: ORDER BY of the queries leaves the order of ties open.

    SUM() is an int or a Decimal, by driver and server; equal numbers give equal text.
    NULL sorts before every text.
    """
    texts = (tuple(_text(value) for value in row) for row in rows)
    return sorted(texts, key=lambda row: [(value is not None, value or "") for value in row])


def differences(left: Results, right: Results, queries: Iterable[str]) -> list[Difference]:
    """The first difference of each query that has one. A query that a side lacks is an error."""
    found = []
    for query in queries:
        for number, pair in enumerate(zip_longest(left[query], right[query]), start=1):
            if pair[0] != pair[1]:
                found.append(Difference(query, number, *pair))
                break
    return found


def to_frame(results: Results) -> pd.DataFrame:
    """A table for CSV: query, number of rows, and the rows, one JSON array of arrays.

    One line a query, so that a result without rows is there too.
    """
    return pd.DataFrame(
        [(query, len(rows), json.dumps(list(rows))) for query, rows in results.items()],
        columns=["query", "rows", "values"],
    )


def from_frame(frame: pd.DataFrame) -> dict[str, list[Row]]:
    """The reverse of to_frame."""
    return {
        query: [tuple(row) for row in json.loads(values)]
        for query, values in zip(frame["query"], frame["values"], strict=True)
    }


def _text(value: object) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, bool | float):
        raise TypeError(f"no query gives a {type(value).__name__}: {value!r}")
    return str(value)


def _show(row: Row | None) -> str:
    return "no such row" if row is None else f"({', '.join(value or 'NULL' for value in row)})"


def _read(path: Path) -> dict[str, list[Row]]:
    try:
        return from_frame(pd.read_csv(path))
    except (OSError, KeyError, ValueError) as error:
        raise SystemExit(f"{path} is no file of results: {error}") from error


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("left", type=Path)
    parser.add_argument("right", type=Path)
    files = parser.parse_args()
    left, right = _read(files.left), _read(files.right)
    for path, one, other in ((files.left, left, right), (files.right, right, left)):
        if missing := sorted(other.keys() - one.keys()):
            raise SystemExit(f"{path} has no result of {', '.join(missing)}")
    found = differences(left, right, left)
    for difference in found:
        print(difference.describe(str(files.left), str(files.right)))
    if not found:
        print(f"{len(left)} queries, no difference")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
