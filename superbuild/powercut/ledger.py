# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The ledger: what clients do, and what they had been told when the power failed.

Each client does a fixed sequence of transactions, given by its number alone, and
marks each one that the server has acknowledged in the log of the recording. So the
rows of a client say which transaction was its last, and all of its rows must be
what they are after that one: no older, nor newer, none half done.
"""

from __future__ import annotations

import contextlib
import random
from dataclasses import dataclass, field, replace

CLIENTS = 4
ROWS = 150  #: of a client in a table, at most
TABLES = ("t0", "t1", "t2", "t3")

PAD = "REPEAT(CHAR(97 + {v} % 26), 60 + ({id} * 31 + {v} * 17) % 800)"

#: One more client, of a table that is larger than the buffer pool: pages are evicted,
#: and written before they are.
WIDE = 9
WIDE_ROWS = 16000


# Clients that change rows


def transaction(client: int, number: int) -> list[tuple[str, int, str]]:
    """What the number-th transaction of a client touches: table, row, what for."""
    dice = random.Random(f"{client} {number}")
    count = 60 if number % 40 == 0 else dice.randint(1, 5)
    rows = {(dice.choice(TABLES), dice.randrange(ROWS)) for _ in range(count)}
    return [(t, r, dice.choice(("change", "change", "change", "remove"))) for t, r in sorted(rows)]


State = dict[tuple[str, int], int]


def after(client: int, number: int) -> State:
    """The rows of a client after a transaction: the value of each one there is."""
    state: State = {}
    for done in range(1, number + 1):
        step(state, client, done)
    return state


def step(state: State, client: int, number: int) -> None:
    for table, row, what in transaction(client, number):
        key = (table, client * 1000 + row)
        if key in state and what == "remove":
            del state[key]
        else:
            state[key] = number


def statements(state: State, client: int, number: int) -> list[str]:
    made = []
    for table, row, what in transaction(client, number):
        key = client * 1000 + row
        pad = PAD.format(v=number, id=key)
        if (table, key) not in state:
            made.append(
                f"INSERT INTO {table} VALUES ({key}, {client}, {number}, {number * 7919 % 1000}, {pad})"
            )
        elif what == "remove":
            made.append(f"DELETE FROM {table} WHERE id = {key}")
        else:
            made.append(
                f"UPDATE {table} SET v = {number}, s = {number * 7919 % 1000}, pad = {pad} WHERE id = {key}"
            )
    made.append(f"UPDATE /* R {client} {number} */ ledger SET n = {number} WHERE c = {client}")
    return made


def wide_rows(number: int) -> list[int]:
    """What the number-th transaction of the client WIDE changes, on as many pages."""
    dice = random.Random(f"wide {number}")
    return sorted({dice.randrange(WIDE_ROWS) for _ in range(6)})


def index_change(number: int) -> str:
    """What the number-th ALTER TABLE does to the table of WIDE."""
    if number % 2 == 0:
        return f"DROP INDEX k{number - 1}"
    return f"ADD INDEX k{number} (v, pad(200))"


def index_after(number: int) -> set[str]:
    """Its secondary indexes then."""
    return {f"k{number}"} if number % 2 else set()


# The client that changes tables


@dataclass
class Table:
    columns: list[str]
    indexes: list[str]
    rows: int
    partitions: list[str] = field(default_factory=list)
    encrypted: bool = False

    def copy(self) -> Table:
        return replace(
            self,
            columns=list(self.columns),
            indexes=list(self.indexes),
            partitions=list(self.partitions),
        )


Tables = dict[str, Table]

#: Statements that the binary log has in these words. A DROP TABLE is there in the server's own, a
#: REPLACE of rows that are there already in none.
LOGGED = ("CREATE ", "ALTER ", "RENAME ", "TRUNCATE ")


def definition(tables: Tables, number: int, *, encryption: bool) -> str:
    """The number-th statement; changes tables to what there is after it."""
    dice = random.Random(f"tables {number}")
    names = sorted(tables)
    new = f"d{number}"
    comment = f"/* D {number} */"
    if len(names) < 2 or (len(names) < 6 and dice.random() < 0.25):
        parts = dice.random() < 0.25
        tables[new] = Table(["id", "v"], ["PRIMARY"], 0, ["p0", "p1"] if parts else [])
        options = dice.choice(
            ["", " ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8", " COMPRESSION='zlib'"]
            + ([" ENCRYPTION='Y'"] if encryption else [])
        )
        tables[new].encrypted = "ENCRYPTION" in options
        if parts:
            tables[new].encrypted = False
            options = " PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN (200))"
        return f"CREATE TABLE {comment} {new} (id INT PRIMARY KEY, v INT){options}"
    name = dice.choice(names)
    table = tables[name]
    choices = [
        "column",
        "index",
        "rebuild",
        "copy",
        "rename",
        "truncate",
        "drop",
        "rows",
        "rows",
        "rows",
    ]
    if len(table.columns) > 2:
        choices.append("drop column")
    if len(table.indexes) > 1:
        choices.append("drop index")
    if table.partitions:
        choices += ["partition", "partition"]
    if encryption and not table.partitions:
        choices += ["encrypt", "decrypt"]
    choice = dice.choice(choices)
    if choice == "column":
        table.columns.append(f"c{number}")
        return f"ALTER TABLE {comment} {name} ADD COLUMN c{number} INT DEFAULT {number}"
    if choice == "drop column":
        column = table.columns.pop()
        with contextlib.suppress(ValueError):
            table.indexes.remove(f"i_{column}")
        return f"ALTER TABLE {comment} {name} DROP COLUMN {column}"
    if choice == "index":
        table.indexes.append(f"k{number}")
        return f"ALTER TABLE {comment} {name} ADD INDEX k{number} (v, id)"
    if choice == "drop index":
        return f"ALTER TABLE {comment} {name} DROP INDEX {table.indexes.pop()}"
    if choice == "rebuild":
        return f"ALTER TABLE {comment} {name} FORCE, ALGORITHM=INPLACE"
    if choice == "copy":
        return f"ALTER TABLE {comment} {name} FORCE, ALGORITHM=COPY"
    if choice == "rename":
        tables[new] = tables.pop(name)
        return f"RENAME TABLE {name} TO {new} {comment}"
    if choice == "truncate":
        table.rows = 0
        return f"TRUNCATE TABLE {comment} {name}"
    if choice == "drop":
        del tables[name]
        return f"DROP TABLE {name} {comment}"
    if choice == "partition":
        table.rows = 0
        return f"ALTER TABLE {comment} {name} TRUNCATE PARTITION {', '.join(table.partitions)}"
    if choice in ("encrypt", "decrypt"):
        table.encrypted = choice == "encrypt"
        return f"ALTER TABLE {comment} {name} ENCRYPTION='{'Y' if choice == 'encrypt' else 'N'}'"
    table.rows = 150
    return (
        f"REPLACE {comment} INTO {name} (id, v) WITH RECURSIVE n (id) AS "
        f"(SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 150) SELECT id, id % 7 FROM n"
    )


# What they were told


@dataclass(kw_only=True)
class Promised:
    """What clients had been told when the power failed."""

    rows: dict[int, int] = field(default_factory=dict)
    tables: int = 0
    tables_before: int = 0  #: the last of an earlier load
    index: int = 0
    purging_to: str = ""  #: asked for, so logs before it may be gone
    purged_to: str = ""
    undo: bool = False  #: the undo tablespace is there
    stopped: bool = False

    @classmethod
    def read(cls, marks: list[str], begun: Promised | None = None) -> Promised:
        promised = cls()
        if begun:
            promised = replace(
                begun, rows=dict(begun.rows), tables_before=begun.tables, stopped=False
            )
        for mark in marks:
            what, *words = mark.split()
            if what == "R":
                # A reader may have been told of a later one already.
                client, number = map(int, words)
                promised.rows[client] = max(number, promised.rows.get(client, 0))
            elif what == "D":
                promised.tables = int(words[0])
            elif what == "I":
                promised.index = int(words[0])
            elif what == "p":
                promised.purging_to = max(promised.purging_to, words[0])
            elif what == "P":
                promised.purged_to = words[0]
            elif what == "U":
                promised.undo = True
            elif what == "S":
                promised.stopped = True
        return promised

    def marks(self) -> list[str]:
        """Of these numbers, for read()."""
        lines = [f"R {client} {number}\n" for client, number in sorted(self.rows.items())]
        return [*lines, f"D {self.tables}\n", f"I {self.index}\n"]

    @property
    def commits(self) -> int:
        return sum(self.rows.values()) + self.tables + self.index
