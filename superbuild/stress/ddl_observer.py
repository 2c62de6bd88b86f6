# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Sessions that read the tables of lru_stats.so, change its settings, and reinstall its plugins."""

from __future__ import annotations

import random
import time

import pymysql


class Observer:
    """Reads the tables of lru_stats.so; the first session also changes what it does."""

    PLUGINS = ("STATS", "STATS_SINCE_RESET", "INDEX_STATS", "AGE_HISTOGRAM", "WHATIF")
    CHANGES = (
        "lru_stats_reset = ON",
        "lru_whatif_enabled = OFF",
        "lru_whatif_enabled = ON",
        "lru_index_stats_enabled = OFF",
        "lru_index_stats_enabled = ON",
        "lru_age_histogram_enabled = OFF",
        "lru_age_histogram_enabled = ON",
        "lru_whatif_memory = 1048576",
        "lru_whatif_memory = DEFAULT",
        "lru_whatif_old_blocks_times = '10,100'",
        "old_blocks_time = 0",
        "old_blocks_time = DEFAULT",
    )
    #: It is there already, or is not at the moment.
    SWITCHED = (1125, 1305, 1109, 1193)
    #: One step in so many takes a table away and brings it back. Not in a debug build, where
    #: upstream deadlocks: INSTALL PLUGIN holds LOCK_plugin and wants the table cache's lock; a thread
    #: that closes a table share holds that and wants LOCK_plugin for a built-in engine.
    SWITCH_EVERY = 500

    def __init__(self, number: int) -> None:
        self._first = number == 0

    def __call__(self, connection: pymysql.Connection, dice: random.Random) -> str:
        what = dice.randrange(self.SWITCH_EVERY) if self._first else self.SWITCH_EVERY
        if what == 0 and "-debug" in connection.get_server_info():
            what = self.SWITCH_EVERY
        plugin = f"INNODB_LRU_{dice.choice(self.PLUGINS)}"
        with connection.cursor() as cursor:
            try:
                if what == 0:
                    cursor.execute(f"UNINSTALL PLUGIN {plugin}")
                    time.sleep(0.5)
                    cursor.execute(f"INSTALL PLUGIN {plugin} SONAME 'lru_stats.so'")
                    return "install"
                if what < self.SWITCH_EVERY // 5:
                    cursor.execute(f"SET GLOBAL innodb_{dice.choice(self.CHANGES)}")
                    return "set"
                cursor.execute(f"SELECT * FROM information_schema.{plugin}")
                cursor.fetchall()
            except pymysql.Error as error:
                if error.args[0] not in self.SWITCHED:
                    raise
        time.sleep(0.05)
        return "observe"
