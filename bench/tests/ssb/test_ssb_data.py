# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The generated data against the paper, and against the transformation done over in pandas."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ssb import generate, queries
from ssb.generate import Data
from ssb.scale import Scale


@pytest.fixture(scope="module")
def tpch(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pd.DataFrame]:
    """The same TPC-H tables as CSV, read by pandas: no Parquet and no DuckDB in between."""
    directory = tmp_path_factory.mktemp("tpch")
    program = Path(sys.executable).with_name("tpchgen-cli")
    subprocess.run([program, "csv", "-q", "-s", "0.01", "-o", directory], check=True)
    return {file.stem: pd.read_csv(file) for file in directory.glob("*.csv")}


@pytest.mark.parametrize(
    ("factor", "customers", "suppliers", "parts"),
    [
        ("0.01", 300, 20, 2_000),
        ("0.1", 3_000, 200, 20_000),
        ("1", 30_000, 2_000, 200_000),
        ("1.0", 30_000, 2_000, 200_000),
        ("2", 60_000, 4_000, 400_000),
        ("3", 90_000, 6_000, 400_000),
        ("4", 120_000, 8_000, 600_000),
        ("100", 3_000_000, 200_000, 1_400_000),
    ],
)
def test_the_paper_s_cardinalities(factor: str, customers: int, suppliers: int, parts: int) -> None:
    scale = Scale.parse(factor)
    assert (scale.customers, scale.suppliers, scale.parts) == (customers, suppliers, parts)


@pytest.mark.parametrize("text", ["0", "-1", "0.001", "1e9", "nan", "one", ""])
def test_a_scale_factor_that_cannot_be_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=f"scale factor '?{re.escape(text)}"):
        Scale.parse(text)


def test_rows(tables: dict[str, pd.DataFrame], small_data: Data) -> None:
    rows = {name: len(table) for name, table in tables.items()}
    assert rows["lineorder"] == pytest.approx(60_000, rel=0.01)
    assert {**rows, "lineorder": 0} == {
        "dim_date": 2556, "customer": 300, "supplier": 20, "part": 2000, "lineorder": 0
    }  # fmt: skip
    assert rows == {file.table: file.rows for file in small_data.files}


def test_keys_are_unique_and_dense(tables: dict[str, pd.DataFrame]) -> None:
    for table, key in (("customer", "c_custkey"), ("supplier", "s_suppkey"), ("part", "p_partkey")):
        assert list(tables[table][key]) == list(range(1, len(tables[table]) + 1))
    lineorder = tables["lineorder"]
    assert not lineorder.duplicated(["lo_orderkey", "lo_linenumber"]).any()
    # TPC-H and the paper: of each 32 order keys, the first 8 are used.
    assert (lineorder["lo_orderkey"] % 32).max() == 7


def test_every_fact_has_its_dimensions(tables: dict[str, pd.DataFrame]) -> None:
    lineorder = tables["lineorder"]
    for column, table, key in (
        ("lo_custkey", "customer", "c_custkey"),
        ("lo_suppkey", "supplier", "s_suppkey"),
        ("lo_partkey", "part", "p_partkey"),
        ("lo_orderdatekey", "dim_date", "d_datekey"),
        ("lo_commitdatekey", "dim_date", "d_datekey"),
    ):
        assert lineorder[column].isin(tables[table][key]).all(), column
    assert lineorder["lo_suppkey"].nunique() == 20
    # As in TPC-H, a third of the customers never ordered: those whose key 3 divides.
    assert set(lineorder["lo_custkey"]) == {key for key in range(1, 301) if key % 3}


def test_ranges_and_distributions(tables: dict[str, pd.DataFrame]) -> None:
    lineorder = tables["lineorder"]
    for column, low, high in (
        ("lo_discount", 0, 10), ("lo_tax", 0, 8), ("lo_quantity", 1, 50)
    ):  # fmt: skip
        counts = lineorder[column].value_counts()
        assert set(counts.index) == set(range(low, high + 1))
        # Uniform: each value within five standard deviations of its share.
        share = len(lineorder) / len(counts)
        assert (counts - share).abs().max() < 5 * share**0.5, column
    assert set(lineorder["lo_linenumber"]) == set(range(1, 8))
    assert set(lineorder["lo_shippriority"]) == {0}
    assert lineorder["lo_orderpriority"].nunique() == 5
    assert lineorder["lo_shipmode"].nunique() == 7
    assert lineorder["lo_supplycost"].between(100, 100_000).all()
    years = (lineorder["lo_orderdatekey"] // 10_000).value_counts(normalize=True)
    # Orders end in August 1998: six years of 15 % each, one of 9 %.
    assert all(years[year] == pytest.approx(0.152, abs=0.01) for year in range(1992, 1998))
    assert years[1998] == pytest.approx(0.09, abs=0.01)
    assert (lineorder["lo_commitdatekey"] > lineorder["lo_orderdatekey"]).all()
    off = lineorder["lo_extendedprice"] * (100 - lineorder["lo_discount"]) // 100
    assert (lineorder["lo_revenue"] == off).all()


def test_hierarchies(tables: dict[str, pd.DataFrame]) -> None:
    part = tables["part"]
    assert set(part["p_mfgr"]) == {f"MFGR#{number}" for number in range(1, 6)}
    assert set(part["p_category"]) == {f"MFGR#{m}{n}" for m in range(1, 6) for n in range(1, 6)}
    for row in part.itertuples():
        assert row.p_category.startswith(row.p_mfgr)
        assert row.p_brand1.startswith(row.p_category)
        assert 1 <= int(row.p_brand1.removeprefix(row.p_category)) <= 40
        assert len(row.p_name.split()) == 2
    numbers = {brand[7:] for brand in part["p_brand1"]}
    assert numbers == {str(number) for number in range(1, 41)}
    assert part["p_color"].nunique() == 92
    for prefix, table in (("c", "customer"), ("s", "supplier")):
        rows = tables[table]
        assert (rows.groupby(f"{prefix}_nation")[f"{prefix}_region"].nunique() == 1).all()
        for nation, city in zip(rows[f"{prefix}_nation"], rows[f"{prefix}_city"], strict=True):
            assert city[:9] == nation.ljust(9)[:9]
            assert len(city) == 10
            assert city[9].isdigit()
    assert tables["customer"]["c_nation"].nunique() == 25
    assert tables["customer"]["c_region"].nunique() == 5
    assert "UNITED ST" in {city[:9] for city in tables["customer"]["c_city"]}


def test_texts_fit_their_columns(tables: dict[str, pd.DataFrame]) -> None:
    widths = dict(re.findall(r"^  (\w+) +(?:VAR)?CHAR\((\d+)\)", _schema(), re.MULTILINE))
    checked = 0
    for table in tables.values():
        for column in table.columns.intersection(list(widths)):
            assert table[column].astype(str).str.len().max() <= int(widths[column]), column
            checked += 1
    assert checked == len(widths)


def test_the_transformation_again_in_pandas(
    tables: dict[str, pd.DataFrame], tpch: dict[str, pd.DataFrame]
) -> None:
    """Row by row and column by column, from other files by other code."""

    def draw(text: str, n: int) -> int:
        return int(hashlib.md5(text.encode()).hexdigest()[:8], 16) % n

    def cents(column: pd.Series) -> pd.Series:
        return (column * 100).round().astype(int)

    facts = (
        tpch["lineitem"]
        .merge(tpch["orders"], left_on="l_orderkey", right_on="o_orderkey")
        .merge(
            tpch["partsupp"],
            left_on=["l_partkey", "l_suppkey"],
            right_on=["ps_partkey", "ps_suppkey"],
        )
        .sort_values(["l_orderkey", "l_linenumber"], ignore_index=True)
    )
    discount = cents(facts["l_discount"])
    price = cents(facts["l_extendedprice"])
    again = pd.DataFrame(
        {
            "lo_orderkey": facts["l_orderkey"],
            "lo_linenumber": facts["l_linenumber"],
            "lo_custkey": (facts["o_custkey"] - 1) % 300 + 1,
            "lo_partkey": facts["l_partkey"],  # at SF 0.01 the paper has as many as TPC-H
            "lo_suppkey": (facts["l_suppkey"] - 1) % 20 + 1,
            "lo_orderdatekey": facts["o_orderdate"].str.replace("-", "").astype(int),
            "lo_orderpriority": facts["o_orderpriority"],
            "lo_shippriority": facts["o_shippriority"],
            "lo_quantity": facts["l_quantity"].astype(int),
            "lo_extendedprice": price,
            "lo_ordtotalprice": cents(facts["o_totalprice"]),
            "lo_discount": discount,
            "lo_revenue": price * (100 - discount) // 100,
            "lo_supplycost": cents(facts["ps_supplycost"]),
            "lo_tax": cents(facts["l_tax"]),
            "lo_commitdatekey": facts["l_commitdate"].str.replace("-", "").astype(int),
            "lo_shipmode": facts["l_shipmode"],
        }
    )
    pd.testing.assert_frame_equal(tables["lineorder"], again)

    place = tpch["nation"].merge(tpch["region"], left_on="n_regionkey", right_on="r_regionkey")
    place = place.set_index("n_nationkey")
    for prefix, table in (("c", "customer"), ("s", "supplier")):
        ours, theirs = tables[table], tpch[table].head(len(tables[table]))
        nation = theirs[f"{prefix}_nationkey"].map(place["n_name"])
        assert (ours[f"{prefix}_nation"] == nation).all()
        assert (
            ours[f"{prefix}_region"] == theirs[f"{prefix}_nationkey"].map(place["r_name"])
        ).all()
        assert (ours[f"{prefix}_phone"] == theirs[f"{prefix}_phone"]).all()
        digits = theirs[f"{prefix}_name"].map(lambda name: str(draw(name, 10)))
        assert (ours[f"{prefix}_city"] == nation.str[:9].str.ljust(9) + digits).all()
    part, theirs = tables["part"], tpch["part"]
    words = theirs["p_name"].str.split(" ")
    assert (part["p_color"] == words.str[0]).all()
    assert (part["p_name"] == words.str[1] + " " + words.str[2]).all()
    brands = [
        f"MFGR#{brand[-2:]}{1 + draw(f'Part#{key}', 40)}"
        for key, brand in zip(theirs["p_partkey"], theirs["p_brand"], strict=True)
    ]
    assert list(part["p_brand1"]) == brands


def test_the_same_bytes_again(small_data: Data, tmp_path: Path) -> None:
    again = generate.ensure(Scale.parse("0.010"), tmp_path / "again")
    assert again.files == small_data.files
    known = json.loads((Path(generate.__file__).parent / "checksums.json").read_text())
    assert known["0.01"] == {file.table: file.sha256 for file in again.files}
    assert again.expected == small_data.expected


def test_other_bytes_are_an_error_and_leave_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sums = tmp_path / "checksums.json"
    sums.write_text('{"0.01": {"part": "no such sum"}}')
    monkeypatch.setattr(generate, "_CHECKSUMS", sums)
    with pytest.raises(RuntimeError, match="part differ from checksums.json"):
        generate.ensure(Scale.parse("0.01"), tmp_path / "data")
    assert list(tmp_path.iterdir()) == [sums]


def test_complete_data_is_used_again_and_that_of_other_versions_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = tmp_path / "data"
    scale = Scale.parse("0.01")
    first = generate.ensure(scale, directory)
    made = first.path("part").stat().st_mtime_ns
    assert generate.ensure(scale, directory).path("part").stat().st_mtime_ns == made
    monkeypatch.setattr(generate.tpch, "generator", lambda: "tpchgen-cli 0.0.1")
    assert generate.ensure(scale, directory).path("part").stat().st_mtime_ns != made


def _schema() -> str:
    return "\n".join(queries.schema())
