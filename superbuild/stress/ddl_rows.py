# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The rows of ddl.py's tables: each holds a checksum of itself, all values sum up to 0."""

from __future__ import annotations

import pymysql
from server import Failure

TABLES = 6
ROWS = 3000

COLUMNS = (
    "(id INT PRIMARY KEY, v INT NOT NULL, pad VARCHAR(1000) NOT NULL, h BIGINT NOT NULL) "
    "ENGINE=InnoDB"
)
CHECKSUM = "CRC32(CONCAT(id, ':', v, ':', pad))"


def check(connection: pymysql.Connection, table: str, rows: int = ROWS) -> None:
    """Raises Failure unless each row of a table is as it must be."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*), SUM(v), COALESCE(SUM(h <> {CHECKSUM}), 0) FROM {table}")
        found, total, wrong = cursor.fetchone()
    if found != rows or total != 0 or wrong != 0:
        raise Failure(
            f"{table}: {found} rows of {rows}, sum {total}, {wrong} with a wrong checksum"
        )
