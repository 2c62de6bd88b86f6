# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Which transactions clients were told are committed, and whether the server has them still."""

from __future__ import annotations

import collections

import pymysql
from server import Failure


class Acknowledged:
    """Each transaction counts itself in the row of its session.

    Sums and checksums of other rows are right, too, where a whole transaction is lost.
    """

    def __init__(self) -> None:
        self._told: collections.Counter[str] = collections.Counter()
        self._sent: collections.Counter[str] = collections.Counter()

    @staticmethod
    def prepare(cursor: pymysql.cursors.Cursor) -> None:
        cursor.execute(
            "CREATE TABLE stress.acknowledged (session VARCHAR(20) PRIMARY KEY, n INT NOT NULL)"
        )

    def commit(self, connection: pymysql.Connection, session: str) -> None:
        """Ends a transaction that the session has begun."""
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO acknowledged VALUES (%s, 1) ON DUPLICATE KEY UPDATE n = n + 1",
                (session,),
            )
        self._sent[session] += 1
        connection.commit()
        self._told[session] += 1

    def check(self, connection: pymysql.Connection) -> None:
        """Raises Failure if one is lost or there twice; no session may be in the middle of one."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT session, n FROM acknowledged")
            there = collections.Counter(dict(cursor.fetchall()))
        if lost := self._told - there:
            raise Failure(f"acknowledged transactions that are lost, by session: {dict(lost)}")
        if more := there - self._sent:
            raise Failure(f"transactions that were never sent, by session: {dict(more)}")
        self._told = there  # the last one of a session may have had no answer
