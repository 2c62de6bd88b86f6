# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Loads the data into a server: LOAD DATA LOCAL INFILE, then the keys, then statistics.

Understood alike by MySQL 5.5 and later and by MariaDB. The server must have local_infile
on, and so must the connection.
"""

from __future__ import annotations

import time

from pymysql import Connection

from ssb import queries
from ssb.generate import Data

DATABASE = "ssb"
# Statistics are exact if all pages are sampled. With a sample, by default 20 pages chosen
# at random, two servers of the same version plan the same queries differently.
_SAMPLE_PAGES = ("innodb_stats_persistent_sample_pages", 1 << 20)
# MySQL 8.0.27 and later sort an index in a buffer of 1 MB by default; this is the
# session's variable for it. Older servers have a global one that is read-only.
_SORT_BUFFER = ("innodb_ddl_buffer_size", 256 << 20)


class LoadError(Exception):
    """A server did not take the data as it is in the files."""


def load(connection: Connection, data: Data) -> dict[str, float]:
    """Makes the database; returns seconds by step: each table, keys, analyze.

    Raises LoadError unless every line of every file became a row without a warning.
    """
    seconds: dict[str, float] = {}
    with connection.cursor() as cursor:
        cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
        cursor.execute(f"CREATE DATABASE {DATABASE} DEFAULT CHARACTER SET latin1")
        cursor.execute(f"USE {DATABASE}")
        for statement in queries.schema():
            cursor.execute(statement)
        for file in data.files:
            started = time.monotonic()
            path = connection.escape(str(data.path(file.table)))
            rows = cursor.execute(
                f"LOAD DATA LOCAL INFILE {path} INTO TABLE {file.table} CHARACTER SET latin1 "
                r"FIELDS TERMINATED BY '|' ESCAPED BY '' LINES TERMINATED BY '\n'"
            )
            seconds[file.table] = time.monotonic() - started
            # LOCAL turns errors of the data into warnings.
            warnings = connection.show_warnings()
            if warnings or rows != file.rows:
                raise LoadError(
                    f"table {file.table}: {rows} rows of {file.rows} loaded from "
                    f"{data.path(file.table)}; first warnings: {warnings[:3]}"
                )
        _set(connection, "SESSION", *_SORT_BUFFER)
        started = time.monotonic()
        for statement in queries.secondary_keys():
            cursor.execute(statement)
        seconds["keys"] = time.monotonic() - started
        started = time.monotonic()
        _set(connection, "GLOBAL", *_SAMPLE_PAGES)
        tables = ", ".join(file.table for file in data.files)
        cursor.execute(f"ANALYZE TABLE {tables}")
        if bad := [row for row in cursor.fetchall() if row[3] != "OK"]:
            raise LoadError(f"ANALYZE TABLE: {bad}")
        seconds["analyze"] = time.monotonic() - started
    return seconds


def _set(connection: Connection, scope: str, name: str, value: int) -> None:
    """Until the server stops, if it has the variable at all."""
    with connection.cursor() as cursor:
        if cursor.execute(f"SHOW VARIABLES LIKE '{name}'"):
            cursor.execute(f"SET {scope} {name} = {value}")
