# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What is recorded: loads and settings of servers, and what they promise."""

from __future__ import annotations

from dataclasses import dataclass, field

from load import Setting

#: Small, so that pages are written and logs wrap in a run of seconds.
COMMON = [
    "--innodb-buffer-pool-size=8M",
    "--innodb-redo-log-capacity=16M",
    "--innodb-log-buffer-size=1M",
    "--innodb-io-capacity=4000",
    "--innodb-io-capacity-max=8000",
    "--innodb-max-dirty-pages-pct=20",
    "--innodb-max-dirty-pages-pct-lwm=2",
    "--innodb-page-cleaners=1",
    "--innodb-purge-threads=1",
    "--innodb-purge-rseg-truncate-frequency=1",
    "--innodb-max-undo-log-size=10M",
    "--innodb-buffer-pool-dump-at-shutdown=OFF",
    "--innodb-buffer-pool-load-at-startup=OFF",
    "--performance-schema=OFF",
    "--loose-mysqlx=OFF",
    "--skip-name-resolve",
    "--log-bin=binlog",
    "--server-id=1",
    "--gtid-mode=ON",
    "--enforce-gtid-consistency=ON",
    "--binlog-rows-query-log-events=ON",
    "--max-binlog-size=65536",
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--log-error-verbosity=3",
]

FEATURES_ON = [
    "--loose-innodb-page-io-fast-path=ON",
    "--loose-innodb-lru-flusher=ON",
    "--loose-binlog-purge-background=ON",
]
FEATURES_OFF = [
    "--loose-innodb-page-io-fast-path=OFF",
    "--loose-innodb-lru-flusher=OFF",
    "--loose-binlog-purge-background=OFF",
]


@dataclass(frozen=True)
class Entry:
    """One way to run a server."""

    name: str
    options: list[str]
    setting: Setting = field(default_factory=Setting)
    modes: tuple[str, ...] = ("ordered", "posix")
    #: Kinds of problems that these settings allow in a mode ("*": in each). They are
    #: counted, not failures.
    allowed: dict[str, frozenset[str]] = field(default_factory=dict)
    #: Sizes of what a device writes whole.
    sectors: tuple[int, ...] = (512, 4096)

    def may(self, kind: str, mode: str) -> bool:
        return any(kind in self.allowed.get(key, ()) for key in (mode, "*"))


COMPRESSED = Setting(
    tables={
        "t1": "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8",
        "t2": "COMPRESSION='zlib'",
        "t3": "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=4",
    }
)
ENCRYPTED = Setting(
    tables={"t0": "ENCRYPTION='Y'", "t2": "ENCRYPTION='Y' COMPRESSION='zlib'"}, encryption=True
)
#: What a page that was torn and cannot be mended leads to.
TORN = frozenset({"no start", "crash", "corrupt", "pages", "refused"})
WEAK = frozenset({"lost", "binlog", "gtid", "stray"})

ENTRIES = [
    Entry("plain", ["--innodb-flush-method=O_DIRECT", *FEATURES_OFF]),
    Entry("features", ["--innodb-flush-method=O_DIRECT", *FEATURES_ON]),
    Entry("fsync", ["--innodb-flush-method=fsync", *FEATURES_ON]),
    Entry("fsync-plain", ["--innodb-flush-method=fsync", *FEATURES_OFF]),
    Entry("fdatasync", ["--innodb-flush-method=fsync", "--innodb-use-fdatasync=ON", *FEATURES_ON]),
    Entry("dsync", ["--innodb-flush-method=O_DSYNC", *FEATURES_ON]),
    Entry(
        # Its data files are not synced: it needs one device, and so a mode with one.
        "no-fsync",
        ["--innodb-flush-method=O_DIRECT_NO_FSYNC", *FEATURES_ON],
        modes=("ordered",),
    ),
    Entry("compressed", ["--innodb-flush-method=O_DIRECT", *FEATURES_ON], COMPRESSED),
    Entry(
        "encrypted",
        [
            "--innodb-flush-method=O_DIRECT",
            "--innodb-redo-log-encrypt=ON",
            "--innodb-undo-log-encrypt=ON",
            "--binlog-encryption=ON",
            *FEATURES_ON,
        ],
        ENCRYPTED,
    ),
    Entry(
        "doublewrite-off",
        ["--innodb-flush-method=O_DIRECT", "--innodb-doublewrite=OFF", *FEATURES_ON],
        allowed={"*": TORN},
    ),
    Entry(
        # A device that writes pages whole promises what the doublewrite does.
        "doublewrite-off-atomic",
        ["--innodb-flush-method=O_DIRECT", "--innodb-doublewrite=OFF", *FEATURES_ON],
        sectors=(16384,),
    ),
    Entry(
        "detect-only",
        ["--innodb-flush-method=O_DIRECT", "--innodb-doublewrite=DETECT_ONLY", *FEATURES_ON],
        allowed={"*": TORN},
    ),
    Entry(
        "flush-log-2",
        [
            "--innodb-flush-method=O_DIRECT",
            "--innodb-flush-log-at-trx-commit=2",
            *FEATURES_ON,
        ],
        allowed={"*": WEAK},
    ),
    Entry(
        "flush-log-0",
        [
            "--innodb-flush-method=O_DIRECT",
            "--innodb-flush-log-at-trx-commit=0",
            *FEATURES_ON,
        ],
        allowed={"*": WEAK},
    ),
    Entry(
        "sync-binlog-0",
        ["--innodb-flush-method=O_DIRECT", "--sync-binlog=0", *FEATURES_ON],
        allowed={"*": WEAK},
    ),
    Entry(
        "sync-binlog-100",
        ["--innodb-flush-method=O_DIRECT", "--sync-binlog=100", *FEATURES_ON],
        allowed={"*": WEAK},
    ),
]

#: What make power-cuts runs if it is not told.
DEFAULT = [entry.name for entry in ENTRIES]


@dataclass(frozen=True)
class Mutant:
    """Something left out; the rig has to find it."""

    name: str
    entry: str
    mode: str
    lies: tuple[str, ...] = ()  #: paths of files whose syncs do nothing
    options: tuple[str, ...] = ()


MUTANTS = [
    Mutant("no sync of tables", "fsync", "posix", (r"/pc(ddl)?/.*\.ibd$",)),
    Mutant("no sync of the dictionary", "fsync", "posix", (r"/mysql\.ibd$",)),
    Mutant("no sync of undo tablespaces", "fsync", "posix", (r"/undo_\d+$|\.ibu$",)),
    Mutant("no sync of the system tablespace", "fsync", "posix", (r"/ibdata1$",)),
    Mutant("no sync of doublewrite files", "fsync", "posix", (r"\.b?dblwr$",)),
    Mutant("no sync of the redo log", "fsync", "posix", (r"/#innodb_redo/",)),
    Mutant("no sync of binary logs", "fsync", "posix", (r"/binlog\.\d+$",)),
    Mutant(
        "no sync of the index of binary logs",
        "fsync",
        "posix",
        (r"/binlog\.(index|~rec~|index_crash_safe)$",),
    ),
    Mutant("no sync of the purge list", "fsync", "posix", (r"~purge~",)),
    Mutant("no sync of directories", "fsync", "posix", (r"/$",)),
    Mutant(
        "innodb_flush_method=nosync",
        "fsync",
        "ordered",
        options=("--innodb-flush-method=nosync",),
    ),
    Mutant("no sync of tables, fast path off", "fsync-plain", "posix", (r"/pc(ddl)?/.*\.ibd$",)),
]
