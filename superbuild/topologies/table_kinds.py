# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A database with a table of every kind, a load of them, and all that is beside the rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymysql
from fleet import Member

ROWS = 150
#: Rows that each round of the load adds and removes; the others it changes.
STEP = 20

NUMBERS = "WITH RECURSIVE n (i) AS (SELECT {first} UNION ALL SELECT i + 1 FROM n WHERE i < {last}) "
TEXT = "CONCAT('row ', {i}, ' of round ', {r}, ' ', REPEAT(CHAR(97 + {i} % 26), {i} % 60))"
DATA = "REPEAT(CONCAT(SHA2({i} * 7 + {r}, 256), {i}), {i} % 50)"
#: The words that a full text search finds.
WORDS = (
    "CONCAT(ELT(1 + {i} % 4, 'sluice gate', 'lock keeper', 'water level', 'flood plain'), ' ', {r})"
)


def kinds(outside: Path) -> dict[str, tuple[str, str, dict[str, str]]]:
    """Name: more columns and keys, options, and values of these columns.

    {i} is the number of the row, {r} the round in which it was written. Every table has
    id, a and b. outside: a folder that is not the data directory.
    """
    ranges = ", ".join(f"PARTITION p{n} VALUES LESS THAN ({n * 40})" for n in range(1, 4))
    more = f"{ranges}, PARTITION rest VALUES LESS THAN MAXVALUE"
    none: dict[str, str] = {}
    return {
        "dynamic": ("KEY (a)", "", none),
        "compact": ("KEY (a)", "ROW_FORMAT=COMPACT", none),
        "redundant": ("KEY (a)", "ROW_FORMAT=REDUNDANT", none),
        "compressed": ("KEY (a)", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4", none),
        "page_zlib": ("KEY (a)", "COMPRESSION='zlib'", none),
        "page_lz4": ("KEY (a)", "COMPRESSION='lz4'", none),
        "encrypted": ("KEY (a)", "ENCRYPTION='Y'", none),
        "encrypted_compressed": ("KEY (a)", "ENCRYPTION='Y' ROW_FORMAT=COMPRESSED", none),
        "encrypted_page_zlib": ("KEY (a)", "ENCRYPTION='Y' COMPRESSION='zlib'", none),
        "by_range": ("KEY (a)", f"PARTITION BY RANGE (id) ({more})", none),
        "by_hash": ("KEY (a)", "PARTITION BY HASH (id) PARTITIONS 3", none),
        "by_key": ("KEY (a)", "PARTITION BY LINEAR KEY (id) PARTITIONS 3", none),
        "by_list": (
            "KEY (a)",
            "PARTITION BY LIST (id % 3) (PARTITION a VALUES IN (0, 2), PARTITION b VALUES IN (1))",
            none,
        ),
        "subpartitions": (
            "KEY (a)",
            f"PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2 ({more})",
            none,
        ),
        "encrypted_partitions": ("", "ENCRYPTION='Y' PARTITION BY HASH (id) PARTITIONS 2", none),
        "in_general": ("KEY (a)", "TABLESPACE=several", none),
        "in_general_too": ("KEY (a)", "TABLESPACE=several ROW_FORMAT=COMPACT", none),
        "in_general_compressed": (
            "",
            "TABLESPACE=several_4k ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4",
            none,
        ),
        "in_general_encrypted": ("KEY (a)", "TABLESPACE=several_encrypted ENCRYPTION='Y'", none),
        "in_system": ("KEY (a)", "TABLESPACE=innodb_system", none),
        "elsewhere": ("KEY (a)", f"DATA DIRECTORY='{outside}'", none),
        "full_text": (
            "w TEXT, FULLTEXT (w), FULLTEXT parts (a) WITH PARSER ngram",
            "",
            {"w": WORDS},
        ),
        "spatial": (
            "g GEOMETRY NOT NULL SRID 0, p POINT NOT NULL SRID 4326, SPATIAL (g), SPATIAL (p)",
            "",
            {
                "g": "ST_GeomFromText(CONCAT('LINESTRING(0 0, ', {i}, ' ', {r}, ')'))",
                "p": "ST_SRID(POINT({i} % 180, {r} % 90), 4326)",
            },
        ),
        "generated": (
            "v INT AS (id * 2) VIRTUAL, s VARCHAR(300) AS (UPPER(a)) STORED,"
            + " KEY (v), KEY (s), KEY ((LENGTH(a) + id))",
            "",
            none,
        ),
        "generated_parts": (
            "v VARCHAR(300) AS (REVERSE(a)) VIRTUAL, KEY (v)",
            "PARTITION BY HASH (id) PARTITIONS 2",
            none,
        ),
        "json": (
            "j JSON, k INT AS (j->'$.i') VIRTUAL, KEY (k),"
            + " KEY tags ((CAST(j->'$.tags' AS UNSIGNED ARRAY)))",
            "",
            {
                "j": "JSON_OBJECT('i', {i}, 'tags', JSON_ARRAY({i} % 5, {r}), 'pad', REPEAT('j', 50))"
            },
        ),
        "vectors": ("v VECTOR(4)", "", {"v": "TO_VECTOR(CONCAT('[', {i}, ',', {r}, ',0.5,-1]'))"}),
        "many_types": (
            "c CHAR(9) CHARACTER SET latin1, d DECIMAL(20,6), e ENUM('x','y'), f DOUBLE, t TIME(6),"
            + " dt DATETIME(3), ts TIMESTAMP NULL, y YEAR, z SET('p','q','r'), bi BIT(17), u BIGINT UNSIGNED,"
            + " vb VARBINARY(40), mt MEDIUMTEXT COLLATE utf8mb4_bin, KEY (d DESC, f)",
            "",
            {
                "c": "LEFT({i}, 9)",
                "d": "{i} / 7",
                "e": "ELT(1 + {i} % 2, 'x', 'y')",
                "f": "SQRT({i})",
                "t": "SEC_TO_TIME({i})",
                "dt": "'2026-01-01' + INTERVAL {i} HOUR",
                "ts": "'2026-01-01' + INTERVAL {i} HOUR",
                "y": "2000 + {i} % 50",
                "z": "IF({i} % 2, 'p,r', 'q')",
                "bi": "{i} % 1000",
                "u": "18446744073709551615 - {i}",
                "vb": "UNHEX(SHA2({i}, 256))",
                "mt": "REPEAT('ü', {i} % 50)",
            },
        ),
        "checked": (
            "h INT DEFAULT 3 INVISIBLE, CHECK (id > 0), KEY hidden (a) INVISIBLE, KEY down (id DESC)",
            "",
            none,
        ),
        "parent": ("", "", none),
        "child": (
            "pid INT, FOREIGN KEY (pid) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE",
            "",
            {"pid": "{i}"},
        ),
        "instant": ("", "", none),
        "no_key": ("", "", none),
        "in_myisam": ("KEY (a)", "ENGINE=MyISAM", none),
        "in_myisam_full_text": ("FULLTEXT (a)", "ENGINE=MyISAM", none),
        "in_archive": ("", "ENGINE=ARCHIVE", none),
        "in_csv": ("", "ENGINE=CSV", none),
    }


TABLESPACES = (
    "CREATE TABLESPACE several ADD DATAFILE 'several.ibd'",
    "CREATE TABLESPACE several_4k ADD DATAFILE 'several_4k.ibd' FILE_BLOCK_SIZE=4096",
    "CREATE TABLESPACE several_encrypted ADD DATAFILE 'several_encrypted.ibd' ENCRYPTION='Y'",
    "CREATE UNDO TABLESPACE more_undo ADD DATAFILE 'more_undo.ibu'",
)

#: What belongs to the database, but is no table.
OBJECTS = (
    "CREATE VIEW kinds.seen AS SELECT p.id, c.a FROM kinds.parent p JOIN kinds.child c ON c.pid = p.id",
    "CREATE TABLE kinds.noticed (n INT NOT NULL AUTO_INCREMENT PRIMARY KEY, id INT)",
    "CREATE TRIGGER kinds.notice AFTER INSERT ON kinds.dynamic FOR EACH ROW"
    + " INSERT INTO kinds.noticed (id) VALUES (NEW.id)",
    "CREATE FUNCTION kinds.twice (n INT) RETURNS INT DETERMINISTIC RETURN n * 2",
    "CREATE PROCEDURE kinds.bury (f INT) DELETE FROM kinds.noticed WHERE id < f",
    "CREATE EVENT kinds.yearly ON SCHEDULE EVERY 1 YEAR STARTS '2036-01-01' DO CALL kinds.bury(0)",
)

ACCOUNTS = (
    "CREATE ROLE 'reader'",
    "GRANT SELECT, EXECUTE ON kinds.* TO 'reader'",
    "CREATE USER 'anna'@'localhost' IDENTIFIED BY 'Of many words 1' DEFAULT ROLE 'reader'",
    "GRANT 'reader' TO 'anna'@'localhost'",
    "ALTER USER 'anna'@'localhost' ATTRIBUTE '{\"floor\": 3}'",
)


def create(member: Member) -> None:
    """All tables, filled, and all that is beside them."""
    outside = member.home / "outside"
    outside.mkdir(exist_ok=True)
    with member.connect() as connection, connection.cursor() as cursor:
        for statement in ("CREATE DATABASE kinds", "USE kinds", *TABLESPACES):
            cursor.execute(statement)
        for name, (columns, options, _) in kinds(outside).items():
            key = "" if name in ("no_key", "in_archive", "in_csv") else ", PRIMARY KEY (id)"
            columns = f", {columns}" if columns else ""
            cursor.execute(
                f"CREATE TABLE kinds.{name} (id INT NOT NULL, a VARCHAR(180) NOT NULL,"
                f" b MEDIUMBLOB NOT NULL{columns}{key}) {options}"
            )
        for name in kinds(outside):
            if name == "instant":
                _insert(cursor, name, member, 1, ROWS // 2, 0)
                cursor.execute(
                    "ALTER TABLE kinds.instant ADD COLUMN c INT NOT NULL DEFAULT 5 AFTER id,"
                    " ALGORITHM=INSTANT"
                )
                _insert(cursor, name, member, ROWS // 2 + 1, ROWS, 0)
                cursor.execute("ALTER TABLE kinds.instant DROP COLUMN c, ALGORITHM=INSTANT")
                cursor.execute(
                    "ALTER TABLE kinds.instant ADD COLUMN e VARCHAR(9) DEFAULT 'e' FIRST,"
                    " ALGORITHM=INSTANT"
                )
            else:
                _insert(cursor, name, member, 1, ROWS, 0)
        for statement in (*OBJECTS, *ACCOUNTS):
            cursor.execute(statement)
        cursor.execute("ANALYZE TABLE kinds.dynamic UPDATE HISTOGRAM ON a WITH 8 BUCKETS")


def without_what_no_clone_has(member: Member) -> None:
    """Upstream's clone takes InnoDB only, and no path that is in use on this machine."""
    for name, (_, options, _) in kinds(member.home / "outside").items():
        if "ENGINE=" in options or "DIRECTORY" in options:
            member.execute(f"DROP TABLE kinds.{name}")


def _insert(
    cursor: pymysql.cursors.Cursor, name: str, member: Member, first: int, last: int, r: int
) -> None:
    values = {"id": "{i}", "a": TEXT, "b": DATA} | kinds(member.home / "outside")[name][2]
    select = ", ".join(value.format(i="i", r=r) for value in values.values())
    cursor.execute("SET SESSION cte_max_recursion_depth = 100000")
    cursor.execute(
        f"INSERT INTO kinds.{name} ({', '.join(values)}) "
        + NUMBERS.format(first=first, last=last)
        + f"SELECT {select} FROM n"
    )


def load(member: Member, r: int) -> None:
    """A round: in each table rows are added, changed, removed, and some of it is rolled back."""
    first = ROWS + 1 + (r - 1) * STEP
    there = {row[0] for row in member.all("SHOW TABLES FROM kinds")}
    with member.connect("kinds") as connection, connection.cursor() as cursor:
        for name, (_, options, more) in kinds(member.home / "outside").items():
            if name not in there:
                continue
            _insert(cursor, name, member, first, first + STEP - 1, r)
            if "ARCHIVE" in options:
                continue  # It knows no UPDATE.
            values = {"a": TEXT, "b": DATA} | more
            changes = ", ".join(f"{c} = {v.format(i='id', r=r)}" for c, v in values.items())
            change = f"UPDATE kinds.{name} SET {changes} WHERE id % 3 = {r % 3}"
            cursor.execute(change)
            cursor.execute(f"DELETE FROM kinds.{name} WHERE id BETWEEN {r * 7} AND {r * 7 + 4}")
            if "MyISAM" in options or "CSV" in options:
                continue
            connection.begin()
            cursor.execute(f"DELETE FROM kinds.{name} WHERE id % 2 = 0")
            cursor.execute(f"UPDATE kinds.{name} SET a = 'rolled back'")
            connection.rollback()
        cursor.execute(
            f"ALTER TABLE kinds.instant ADD COLUMN n{r} INT DEFAULT {r}, ALGORITHM=INSTANT"
        )
        cursor.execute("ALTER TABLE kinds.by_range REBUILD PARTITION rest")
        cursor.execute("OPTIMIZE TABLE kinds.full_text")
        cursor.execute("TRUNCATE TABLE kinds.noticed")
        # Undo logs wander from one tablespace to the other, and are truncated.
        undo = "SELECT STATE FROM information_schema.INNODB_TABLESPACES WHERE NAME = 'more_undo'"
        if cursor.execute(undo):
            cursor.execute("ALTER UNDO TABLESPACE more_undo SET INACTIVE")
            cursor.execute("ALTER UNDO TABLESPACE more_undo SET ACTIVE")
        cursor.execute("SET PERSIST max_connect_errors = %s", (1000 + r,))


def check(member: Member) -> None:
    """CHECK TABLE of every table, and searches by each kind of index, beside scans."""
    for (table,) in member.all(
        "SELECT TABLE_NAME FROM information_schema.TABLES"
        " WHERE TABLE_SCHEMA = 'kinds' AND TABLE_TYPE = 'BASE TABLE'"
    ):
        for row in member.all(f"CHECK TABLE kinds.`{table}` EXTENDED"):
            assert row[2:4] == ("status", "OK"), f"{member}: CHECK TABLE: {row}"
    near = "MBRIntersects(g, ST_GeomFromText('POLYGON((0 0, 90 0, 90 9, 0 9, 0 0))'))"
    for by_index, by_scan in (
        (
            "SELECT COUNT(*) FROM kinds.full_text WHERE MATCH (w) AGAINST ('+lock' IN BOOLEAN MODE)",
            "SELECT COUNT(*) FROM kinds.full_text WHERE w LIKE '%lock%'",
        ),
        (
            f"SELECT COUNT(*) FROM kinds.spatial FORCE INDEX (g) WHERE {near}",
            f"SELECT COUNT(*) FROM kinds.spatial IGNORE INDEX (g) WHERE {near}",
        ),
        (
            "SELECT COUNT(*) FROM kinds.json FORCE INDEX (tags) WHERE 3 MEMBER OF (j->'$.tags')",
            "SELECT COUNT(*) FROM kinds.json IGNORE INDEX (tags) WHERE 3 MEMBER OF (j->'$.tags')",
        ),
        (
            "SELECT SUM(v) FROM kinds.generated FORCE INDEX (v) WHERE v > 100",
            "SELECT SUM(id * 2) FROM kinds.generated IGNORE INDEX (v) WHERE id > 50",
        ),
        (
            "SELECT COUNT(*) FROM kinds.many_types FORCE INDEX (d) WHERE d > 9",
            "SELECT COUNT(*) FROM kinds.many_types IGNORE INDEX (d) WHERE d > 9",
        ),
    ):
        one, other = member.value(by_index), member.value(by_scan)
        assert one == other and one, f"{member}: {by_index}: {one}; without it: {other}"
    assert member.value("SELECT kinds.twice(21)") == 42


#: What a dump carries beside rows, what a copy of the files does, and what only they themselves do.
LOGICAL = {
    "views": "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
    " WHERE TABLE_SCHEMA = 'kinds'",
    "routines": "SELECT ROUTINE_NAME, ROUTINE_DEFINITION, DEFINER FROM information_schema.ROUTINES"
    " WHERE ROUTINE_SCHEMA = 'kinds'",
    "triggers": "SELECT TRIGGER_NAME, ACTION_STATEMENT FROM information_schema.TRIGGERS"
    " WHERE TRIGGER_SCHEMA = 'kinds'",
    "events": "SELECT EVENT_NAME, EVENT_DEFINITION, STATUS FROM information_schema.EVENTS"
    " WHERE EVENT_SCHEMA = 'kinds'",
    "histograms": "SELECT TABLE_NAME, COLUMN_NAME FROM information_schema.COLUMN_STATISTICS",
}
COPIED = LOGICAL | {
    "tablespaces": "SELECT NAME, ROW_FORMAT, ENCRYPTION FROM information_schema.INNODB_TABLESPACES"
    " WHERE NAME NOT LIKE 'kinds/fts%' AND NAME NOT LIKE 'topology/%'",
    "accounts": "SELECT User, Host, plugin, authentication_string, User_attributes FROM mysql.user",
    "roles": "SELECT * FROM mysql.role_edges",
    "components": "SELECT component_urn FROM mysql.component",
    "plugins": "SELECT * FROM mysql.plugin",
}
IN_PLACE = COPIED | {
    # Those of ours are looked at one by one.
    "persisted": "SELECT VARIABLE_NAME, VARIABLE_VALUE FROM performance_schema.persisted_variables"
    " WHERE VARIABLE_NAME NOT RLIKE 'binlog_purge|innodb_lru'",
}


def beside(member: Member, what: dict[str, str] = IN_PLACE) -> dict[str, Any]:
    """All that is to stay the same beside the rows."""
    return {name: sorted(member.all(query), key=repr) for name, query in what.items()}


def same_beside(one: dict[str, Any], other: dict[str, Any], where: Callable[[], str]) -> None:
    for name, here in one.items():
        there = other[name]
        lost = [row for row in here if row not in there]
        new = [row for row in there if row not in here]
        assert not lost and not new, f"{where()}: {name}: lost {lost}, new {new}"
