# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""TPC-H becomes the star schema: the paper's transformation, in SQL that DuckDB runs.

Columns come in the order of schema.sql, money in cents.
What the paper leaves open is in README.md; `draw` is the one rule for attributes that
TPC-H has no column for.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from ssb.dates import date_dimension
from ssb.scale import Scale
from ssb.tpch import TABLES as TPCH_TABLES

# A number from 0 to n - 1 that depends on the text alone, spread evenly: the first 32
# bits of its MD5 sum, modulo n. DuckDB's own hash() may change with its version.
_MACROS = """
CREATE TEMP MACRO draw(text, n) AS CAST('0x' || substr(md5(text), 1, 8) AS UINTEGER) % n;
CREATE TEMP MACRO fold(key, n) AS CAST((key - 1) % n + 1 AS INTEGER);
CREATE TEMP MACRO cents(amount) AS CAST(amount * 100 AS INTEGER);
CREATE TEMP MACRO datekey(day) AS CAST(strftime(day, '%Y%m%d') AS INTEGER);
CREATE TEMP MACRO city(nation, text) AS rpad(left(nation, 9), 9, ' ') || draw(text, 10);
"""

# {customers}, {suppliers} and {parts} are the paper's numbers of rows, fewer than TPC-H's:
# the first so many rows stay, and keys beyond them fold onto these.
_SELECTS = {
    "customer": """
        SELECT CAST(c_custkey AS INTEGER) AS c_custkey, c_name,
               left(c_address, 25) AS c_address, city(n_name, c_name) AS c_city,
               n_name AS c_nation, r_name AS c_region, c_phone, c_mktsegment
        FROM tpch_customer
        JOIN tpch_nation ON c_nationkey = n_nationkey
        JOIN tpch_region ON n_regionkey = r_regionkey
        WHERE c_custkey <= {customers}""",
    "supplier": """
        SELECT CAST(s_suppkey AS INTEGER) AS s_suppkey, s_name,
               left(s_address, 25) AS s_address, city(n_name, s_name) AS s_city,
               n_name AS s_nation, r_name AS s_region, s_phone
        FROM tpch_supplier
        JOIN tpch_nation ON s_nationkey = n_nationkey
        JOIN tpch_region ON n_regionkey = r_regionkey
        WHERE s_suppkey <= {suppliers}""",
    # TPC-H names a part by five colours: the first becomes the colour, the next two the
    # name. Its Brand#MN is the N-th brand of manufacturer M, here that one's category.
    "part": """
        SELECT CAST(p_partkey AS INTEGER) AS p_partkey,
               split_part(p_name, ' ', 2) || ' ' || split_part(p_name, ' ', 3) AS p_name,
               'MFGR#' || right(p_mfgr, 1) AS p_mfgr,
               'MFGR#' || right(p_brand, 2) AS p_category,
               'MFGR#' || right(p_brand, 2) || (1 + draw('Part#' || p_partkey, 40)) AS p_brand1,
               split_part(p_name, ' ', 1) AS p_color, p_type, p_size, p_container
        FROM tpch_part
        WHERE p_partkey <= {parts}""",
    # Revenue is rounded down to whole cents, as the authors' generator does.
    "lineorder": """
        SELECT CAST(l_orderkey AS INTEGER) AS lo_orderkey,
               l_linenumber AS lo_linenumber,
               fold(o_custkey, {customers}) AS lo_custkey,
               fold(l_partkey, {parts}) AS lo_partkey,
               fold(l_suppkey, {suppliers}) AS lo_suppkey,
               datekey(o_orderdate) AS lo_orderdatekey,
               o_orderpriority AS lo_orderpriority,
               CAST(o_shippriority AS VARCHAR) AS lo_shippriority,
               CAST(l_quantity AS INTEGER) AS lo_quantity,
               cents(l_extendedprice) AS lo_extendedprice,
               cents(o_totalprice) AS lo_ordtotalprice,
               cents(l_discount) AS lo_discount,
               CAST(CAST(l_extendedprice * 100 AS BIGINT) * (100 - cents(l_discount)) // 100
                    AS INTEGER) AS lo_revenue,
               cents(ps_supplycost) AS lo_supplycost,
               cents(l_tax) AS lo_tax,
               datekey(l_commitdate) AS lo_commitdatekey,
               l_shipmode AS lo_shipmode
        FROM tpch_lineitem
        JOIN tpch_orders ON l_orderkey = o_orderkey
        JOIN tpch_partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey""",
}

# The order of the rows in the files, which the load gives lineorder's hidden row numbers.
_ORDER = {
    "dim_date": "d_datekey",
    "customer": "c_custkey",
    "supplier": "s_suppkey",
    "part": "p_partkey",
    "lineorder": "lo_orderkey, lo_linenumber",
}
TABLES = tuple(_ORDER)


def transform(database: duckdb.DuckDBPyConnection, tpch: Path, scale: Scale) -> None:
    """Makes the five tables in the database from the Parquet files in tpch."""
    database.execute(_MACROS)
    for table in TPCH_TABLES:
        path = str(tpch / f"{table}.parquet").replace("'", "''")
        database.execute(f"CREATE TEMP VIEW tpch_{table} AS SELECT * FROM read_parquet('{path}')")
    dates = date_dimension()
    database.register("date_frame", dates)
    database.execute("CREATE TABLE dim_date AS SELECT * FROM date_frame")
    database.unregister("date_frame")
    sizes = {"customers": scale.customers, "suppliers": scale.suppliers, "parts": scale.parts}
    for table, select in _SELECTS.items():
        database.execute(f"CREATE TABLE {table} AS {select.format(**sizes)}")


def export(database: duckdb.DuckDBPyConnection, table: str, path: Path) -> None:
    """Writes a table as text: one line a row, columns with | between, nothing quoted.

    TPC-H's texts have neither |, backslashes nor line ends in them.
    """
    target = str(path).replace("'", "''")
    database.execute(
        f"COPY (SELECT * FROM {table} ORDER BY {_ORDER[table]}) TO '{target}' "
        "(FORMAT csv, DELIMITER '|', HEADER false, QUOTE '', ESCAPE '')"
    )
