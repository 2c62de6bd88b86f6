# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The comparison of results: what is the same, and what it says when something is not."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from ssb import compare

_ROWS = [(1992, "MFGR#121", Decimal(300)), (1993, "MFGR#121", Decimal(100)), (1993, None, 7)]


def _results(*changed: tuple[object, ...]) -> dict[str, list[compare.Row]]:
    return {"q1.1": compare.canonical([(5,)]), "q2.1": compare.canonical([*_ROWS, *changed])}


def test_order_and_the_type_of_a_number_do_not_matter() -> None:
    left = compare.canonical(_ROWS)
    right = compare.canonical([(1993, None, 7), (1993, "MFGR#121", 100), (1992, "MFGR#121", 300)])
    assert left == right
    assert compare.canonical([(Decimal("1E+2"),)]) == compare.canonical([(100,)])
    assert not compare.differences(_results(), _results(), ["q1.1", "q2.1"])


def test_null_is_not_an_empty_text() -> None:
    assert compare.canonical([(None,)]) != compare.canonical([("",)])


def test_a_changed_value_is_reported_with_query_and_row() -> None:
    left, right = _results(), _results()
    right["q2.1"] = compare.canonical([*_ROWS[:1], (1993, "MFGR#121", 101), _ROWS[2]])
    (difference,) = compare.differences(left, right, left)
    assert difference.describe("stock", "sluice") == (
        "q2.1, row 3: stock has (1993, MFGR#121, 100), sluice has (1993, MFGR#121, 101)"
    )


def test_a_missing_and_an_additional_row_are_reported() -> None:
    more = _results((1998, "MFGR#5540", 1))
    (difference,) = compare.differences(_results(), more, ["q2.1"])
    assert difference.describe("a", "b") == (
        "q2.1, row 4: a has no such row, b has (1998, MFGR#5540, 1)"
    )
    (difference,) = compare.differences(more, _results(), ["q2.1"])
    assert difference.right is None


def test_a_row_twice_is_not_the_same_as_once() -> None:
    assert compare.differences(_results(), _results(_ROWS[0]), ["q2.1"])


def test_a_floating_point_number_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="float"):
        compare.canonical([(1.5,)])


def test_files_keep_everything() -> None:
    results = {**_results(), "q3.4": []}
    text = compare.to_frame(results).to_csv(index=False)
    assert compare.from_frame(pd.read_csv(StringIO(text))) == results


def test_the_command(tmp_path: Path) -> None:
    left, right, other = (tmp_path / name for name in ("left.csv", "right.csv", "other.csv"))
    compare.to_frame(_results()).to_csv(left, index=False)
    compare.to_frame(_results((1999, "x", 1))).to_csv(right, index=False)
    compare.to_frame({"q1.1": []}).to_csv(other, index=False)

    assert _command(left, left) == (0, "2 queries, no difference\n", "")
    code, output, _ = _command(left, right)
    assert code == 1
    assert output.startswith(f"q2.1, row 4: {left} has no such row")
    assert "other.csv has no result of q2.1" in _command(left, other)[2]
    assert "missing.csv is no file of results" in _command(left, tmp_path / "missing.csv")[2]


def _command(*files: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "ssb.compare", *map(str, files)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(compare.__file__).parents[1],
    )
    return done.returncode, done.stdout, done.stderr
