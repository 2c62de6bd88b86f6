# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""A load on several servers that knows what was acknowledged, through kills and switches."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Iterator

import pymysql
from fleet import PATIENCE, Member, say, wait

CLIENTS = 4
ACCOUNTS = 400
#: Rows of 3000 bytes, more than the buffer pool of 8 MB holds.
PAGES = 5000

#: The server is gone, or ends.
GONE = {0, 1053, 1317, 2002, 2003, 2006, 2013, 2014, 2055, 3168, 3169}
#: Lost to another transaction, here or, in a group, on another member.
LOST = {1180, 1205, 1213, 1614, 3101}
#: It takes no writes: a replica, or a member that is not, or not any more, in the group.
CLOSED = {1290, 1836, 3032, 3100, 3796}
DUPLICATE = 1062
#: After these a transaction may be committed.
UNKNOWN = GONE | {1180}

PREPARE = (
    "CREATE DATABASE topology",
    "CREATE TABLE topology.ledger (client INT, n INT, pad VARCHAR(200), PRIMARY KEY (client, n))",
    "CREATE TABLE topology.account (id INT PRIMARY KEY, v INT NOT NULL, last VARCHAR(40), KEY (v))",
    "CREATE TABLE topology.pages (id INT PRIMARY KEY, v INT NOT NULL, pad VARCHAR(3000), KEY (v))",
)


class Load:
    """Clients that each do transactions 1, 2, 3 ..., and go on where a server takes writes."""

    def __init__(self, members: list[Member], clients: int = CLIENTS) -> None:
        self.members = members
        self.done = [0] * clients  #: the last transaction that is known to be committed
        self.again = 0  #: transactions that were tried again
        self.pause = 0.02  #: seconds of a client between two transactions
        self._moves = 0
        self._over = threading.Event()
        self._failure: Exception | None = None
        self._threads = [
            threading.Thread(target=self._client, args=(number,), daemon=True)
            for number in range(clients)
        ]

    @staticmethod
    def prepare(member: Member) -> None:
        """The tables, on a server that takes writes."""
        with member.connect() as connection, connection.cursor() as cursor:
            for statement in PREPARE:
                cursor.execute(statement)
            cursor.execute("SET SESSION cte_max_recursion_depth = 100000")
            numbers = (
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"
            )
            cursor.execute(
                "INSERT INTO topology.account "
                + numbers.format(ACCOUNTS)
                + " SELECT i, 0, 'new' FROM n"
            )
            cursor.execute(
                "INSERT INTO topology.pages "
                + numbers.format(PAGES)
                + " SELECT i, 0, REPEAT(CHAR(97 + i % 26), 3000) FROM n"
            )

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def more(self, transactions: int) -> None:
        """Until that many more are committed."""
        goal = sum(self.done) + transactions
        wait(f"{goal} transactions, there are {sum(self.done)}", lambda: self._check(goal))

    def _check(self, goal: int) -> bool:
        if self._failure is not None:
            raise AssertionError(f"a client has failed: {self._failure!r}") from self._failure
        return sum(self.done) >= goal

    @contextlib.contextmanager
    def gently(self) -> Iterator[None]:
        """Slowly enough that whoever is behind catches up."""
        self.pause, before = 0.3, self.pause
        yield
        self.pause = before

    def move(self) -> None:
        """Each client goes back to the server that it began with."""
        self._moves += 1

    def end(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), "a client does not end: a server may hang"
        self._check(0)
        say(f"{sum(self.done)} transactions committed, {self.again} attempts repeated")

    def check(self, member: Member) -> None:
        """All that was acknowledged is there, once, and nothing is there by halves."""
        rows = member.all("SELECT client, COUNT(*), MAX(n) FROM topology.ledger GROUP BY client")
        found = {row[0]: row[1:] for row in rows}
        wanted = {client: (n, n) for client, n in enumerate(self.done) if n}
        assert found == wanted, (
            f"{member}: transactions by client (how many, the last): {found} instead of {wanted}"
        )
        assert member.value("SELECT SUM(v) FROM topology.account") == 0, f"{member}: a sum is wrong"
        count = member.value("SELECT COUNT(*) FROM topology.pages")
        assert count == PAGES, f"{member}: {count} rows instead of {PAGES}"

    # A client

    def _client(self, number: int) -> None:
        dice = random.Random(number)
        connection: pymysql.Connection | None = None
        moves = 0
        unknown = False  # may an earlier attempt at this transaction have been committed?
        while not self._over.is_set():
            try:
                if connection is not None and moves != self._moves:
                    connection.close()
                    connection = None
                if connection is None:
                    moves = self._moves
                    connection = self._connect(number)
                    if connection is None:
                        time.sleep(0.05)
                        continue
                self._transaction(connection, number, self.done[number] + 1, dice)
                self.done[number] += 1
                unknown = False
                self._over.wait(self.pause)
            except Exception as error:  # noqa: BLE001 - whatever it is, it ends the load
                code = error.args[0] if isinstance(error, pymysql.Error) and error.args else 0
                if isinstance(error, (pymysql.Error, OSError)):
                    if code == DUPLICATE and "ledger" in str(error) and unknown:
                        # It was committed, and the answer got lost.
                        self.done[number] += 1
                        unknown = False
                        with contextlib.suppress(pymysql.Error, OSError):
                            assert connection is not None
                            connection.rollback()
                            continue
                    self.again += 1
                    unknown |= code in UNKNOWN or isinstance(error, OSError)
                    if code in LOST and connection is not None and connection.open:
                        with contextlib.suppress(pymysql.Error, OSError):
                            connection.rollback()
                            continue
                    if code in LOST | GONE | CLOSED or isinstance(error, OSError):
                        if connection is not None and connection.open:
                            with contextlib.suppress(pymysql.Error, OSError):
                                connection.close()
                        connection = None
                        continue
                self._failure = error
                return
        if connection is not None and connection.open:
            with contextlib.suppress(pymysql.Error, OSError):
                connection.close()

    def _connect(self, turn: int) -> pymysql.Connection | None:
        """To a server that takes writes, beginning with the one whose turn it is."""
        members = self.members
        for step in range(len(members)):
            member = members[(turn + step) % len(members)]
            try:
                connection = member.connect("topology", read_timeout=PATIENCE, connect_timeout=30)
                with connection.cursor() as cursor:
                    cursor.execute("SELECT @@super_read_only, @@offline_mode")
                    if cursor.fetchone() == (0, 0):
                        cursor.execute("SET SESSION innodb_lock_wait_timeout = 20")
                        return connection
                connection.close()
            except (pymysql.Error, OSError, AssertionError):
                continue
        return None

    def _transaction(
        self, connection: pymysql.Connection, client: int, n: int, dice: random.Random
    ) -> None:
        with connection.cursor() as cursor:
            if n % 50 == 0:
                cursor.execute(f"CREATE TABLE IF NOT EXISTS scratch{client} (id INT PRIMARY KEY)")
                cursor.execute(f"REPLACE INTO scratch{client} VALUES ({n})")
                cursor.execute(f"DROP TABLE IF EXISTS scratch{client}")
            connection.begin()
            cursor.execute(
                "INSERT INTO ledger VALUES (%s, %s, REPEAT(%s, %s))",
                (client, n, "l", dice.randrange(200)),
            )
            one, other = sorted(dice.sample(range(1, ACCOUNTS + 1), 2))
            amount = dice.randint(-9, 9)
            for account, change in ((one, amount), (other, -amount)):
                cursor.execute(
                    "UPDATE account SET v = v + %s, last = %s WHERE id = %s",
                    (change, f"{client}/{n}", account),
                )
            for page in sorted(dice.sample(range(1, PAGES + 1), 3)):
                cursor.execute(
                    "UPDATE pages SET v = %s, pad = REPEAT(%s, 3000) WHERE id = %s",
                    (n, "abcdefgh"[n % 8], page),
                )
            if n % 7 == 0:
                page = dice.randint(1, PAGES)
                cursor.execute("DELETE FROM pages WHERE id = %s", (page,))
                cursor.execute("INSERT INTO pages VALUES (%s, %s, 'again')", (page, n))
            connection.commit()
