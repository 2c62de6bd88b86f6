# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Transactions that are remembered outside the server, to ask for them after a crash."""

from __future__ import annotations

import threading
from dataclasses import dataclass

import pymysql

from harness.server import Server

DATABASE = "recovery"
_ROWS_A_TRANSACTION = 200


@dataclass
class Writer:
    """One connection: updates rows and notes the number of the transaction, until it is cut off."""

    number: int
    committed: int = 0  #: number of the last transaction whose COMMIT was answered
    error: str | None = None


class Ledger:
    """Tables, and clients that write: each transaction rewrites 200 rows of its client's own
    part with its number, and adds that number to the ledger.
    """

    def __init__(self, server: Server, clients: int, rows: int) -> None:
        self._server = server
        self._rows = rows  #: of each client
        self._writers = [Writer(number) for number in range(clients)]
        self._threads: list[threading.Thread] = []
        self._end = threading.Event()

    @staticmethod
    def create(server: Server, clients: int, rows: int) -> None:
        """data: so many rows for each client, about 500 bytes each; ledger: empty."""
        server.execute(
            f"CREATE DATABASE {DATABASE}",
            f"CREATE TABLE {DATABASE}.data (client INT NOT NULL, id INT NOT NULL,"
            " number INT NOT NULL, pad VARCHAR(500) NOT NULL, PRIMARY KEY (client, id))"
            " ENGINE=InnoDB",
            f"CREATE TABLE {DATABASE}.ledger (client INT NOT NULL, number INT NOT NULL,"
            " PRIMARY KEY (client, number)) ENGINE=InnoDB",
        )
        with server.connect(DATABASE) as connection, connection.cursor() as cursor:
            for client in range(clients):
                for first in range(0, rows, 1000):
                    values = ",".join(
                        f"({client},{number},0,REPEAT('a',450))"
                        for number in range(first, min(first + 1000, rows))
                    )
                    cursor.execute(f"INSERT INTO data VALUES {values}")

    def reset(self) -> None:
        self._server.execute(
            "TRUNCATE TABLE ledger", "UPDATE data SET number = 0", database=DATABASE
        )

    def start(self) -> None:
        self._threads = [
            threading.Thread(target=self._write, args=(writer,)) for writer in self._writers
        ]
        for thread in self._threads:
            thread.start()

    def wait(self) -> None:
        """After the server is gone: until every client has noticed."""
        self._end.set()
        for thread in self._threads:
            thread.join()

    @property
    def committed(self) -> int:
        return sum(writer.committed for writer in self._writers)

    def check(self) -> list[str]:
        """The faults in the recovered tables; none if all is well.

        Every transaction whose commit was answered is there; one more a client may
        be, whose answer was lost; and each is there whole or not at all.
        """
        wrong = []
        for writer in self._writers:
            (entry,) = self._server.rows(
                f"SELECT COUNT(*) AS n, COALESCE(MAX(number), 0) AS last FROM ledger"
                f" WHERE client = {writer.number}",
                DATABASE,
            )
            last = int(entry["last"])
            if not writer.committed <= last <= writer.committed + 1:
                wrong.append(
                    f"client {writer.number}: transaction {writer.committed} was committed, "
                    f"the ledger ends with {last}"
                )
            if int(entry["n"]) != last:
                wrong.append(f"client {writer.number}: {entry['n']} of {last} entries are there")
            wrong += self._check_rows(writer.number, last)
        return wrong

    def _check_rows(self, client: int, last: int) -> list[str]:
        """Each block of rows holds the number of the last transaction that rewrote it."""
        blocks = self._rows // _ROWS_A_TRANSACTION
        rows = self._server.rows(
            f"SELECT id DIV {_ROWS_A_TRANSACTION} AS block, MIN(number) AS low, MAX(number) AS high,"
            f" COUNT(*) AS n FROM data WHERE client = {client} GROUP BY block",
            DATABASE,
        )
        wrong = []
        for row in rows:
            block = int(row["block"])
            turns, inside = divmod(last, blocks)
            # Transaction 1 rewrites block 1, and so on, round and round.
            expected = turns * blocks + block if block <= inside else (turns - 1) * blocks + block
            expected = max(expected, 0)
            found = (int(row["low"]), int(row["high"]), int(row["n"]))
            if found != (expected, expected, _ROWS_A_TRANSACTION):
                wrong.append(
                    f"client {client}, block {block}: transaction {expected} was its last, "
                    f"it holds {found[0]} to {found[1]} in {found[2]} rows"
                )
        if len(rows) != blocks:
            wrong.append(f"client {client}: {len(rows)} of {blocks} blocks are there")
        return wrong

    def _write(self, writer: Writer) -> None:
        blocks = self._rows // _ROWS_A_TRANSACTION
        try:
            connection = self._server.connect(DATABASE)
            with connection.cursor() as cursor:
                while not self._end.is_set():
                    number = writer.committed + 1
                    first = number % blocks * _ROWS_A_TRANSACTION
                    cursor.execute("BEGIN")
                    cursor.execute(
                        f"UPDATE data SET number = {number}, pad = REPEAT(CHAR({97 + number % 26}),450)"
                        f" WHERE client = {writer.number} AND id >= {first}"
                        f" AND id < {first + _ROWS_A_TRANSACTION}"
                    )
                    cursor.execute(f"INSERT INTO ledger VALUES ({writer.number}, {number})")
                    cursor.execute("COMMIT")
                    writer.committed = number
        except (pymysql.err.MySQLError, OSError) as error:
            writer.error = str(error)
