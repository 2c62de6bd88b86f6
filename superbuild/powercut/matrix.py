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
    # Less than a log, which else goes at once.
    "--loose-binlog-purge-chunk-size=16384",
    "--source-verify-checksum=ON",  # of each event that a check reads
    "--sync-binlog=1",
    "--innodb-flush-log-at-trx-commit=1",
    "--log-error-verbosity=3",
]

#: See order.py.
RULES = ("redo first", "whole copy", "checkpoint")

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
    modes: tuple[str, ...] = ("journal", "protected")
    #: Modes in which settings promise less; a quarter of the cuts goes there.
    measured: tuple[str, ...] = ()
    #: Kinds of problems that these settings allow in a mode ("*": in each). They are
    #: counted, not failures.
    allowed: dict[str, frozenset[str]] = field(default_factory=dict)
    #: Sizes of what a device writes whole.
    sectors: tuple[int, ...] = (512, 4096)
    near: str = ""  #: where most of the power is cut: a pattern of aims

    @property
    def rules(self) -> tuple[str, ...]:
        """Those of order.py that hold for what is written."""
        if not self.setting.redo or self.setting.tables:
            return ()
        if any(option.startswith("--innodb-doublewrite=") for option in self.options):
            return ()
        if "--innodb-flush-method=O_DIRECT_NO_FSYNC" in self.options:
            return ("redo first",)
        # With O_DIRECT the doublewrite files are not synced.
        return RULES if self.modes == ("journal",) else ("redo first", "checkpoint")

    def may(self, kind: str, mode: str) -> bool:
        """Is this counted, and no failure? What is known is upstream's, see the note."""
        if kind.startswith("known"):
            return True
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
ENCRYPT = [
    "--innodb-redo-log-encrypt=ON",
    "--innodb-undo-log-encrypt=ON",
    "--binlog-encryption=ON",
]
#: What a page that was torn and cannot be mended leads to.
TORN = frozenset({"no start", "crash", "corrupt", "pages", "refused", "future"})
WEAK = frozenset({"lost", "binlog", "gtid", "stray"})

#: The server's upper half syncs no directory for a new binary log.
NAMES = frozenset(
    {"lost", "half", "binlog", "gtid", "purge", "stray", "files", "no start", "future"}
)


def direct(
    name: str,
    options: list[str],
    setting: Setting | None = None,
    *,
    allowed: frozenset[str] = frozenset(),
    sectors: tuple[int, ...] = (512, 4096),
) -> Entry:
    """With O_DIRECT the doublewrite files are not synced: that needs a protected cache."""
    return Entry(
        name,
        ["--innodb-flush-method=O_DIRECT", *options],
        setting or Setting(),
        modes=("protected",),
        measured=("ordered",),
        allowed={"*": allowed, "ordered": TORN},
        sectors=sectors,
    )


ENTRIES = [
    direct("plain", FEATURES_OFF),
    direct("features", FEATURES_ON),
    Entry(
        "fsync",
        ["--innodb-flush-method=fsync", *FEATURES_ON],
        modes=("journal",),
        measured=("posix",),
        allowed={"posix": NAMES},
    ),
    Entry("fsync-plain", ["--innodb-flush-method=fsync", *FEATURES_OFF], modes=("journal",)),
    Entry(
        "fdatasync",
        ["--innodb-flush-method=fsync", "--innodb-use-fdatasync=ON", *FEATURES_ON],
        modes=("journal",),
    ),
    # InnoDB's own flush at a commit; with a binary log, the groups of its commits flush.
    Entry(
        "no-binlog",
        ["--innodb-flush-method=fsync", "--skip-log-bin", *FEATURES_ON],
        Setting(binlog=False, purge=False),
        modes=("journal",),
    ),
    Entry("dsync", ["--innodb-flush-method=O_DSYNC", *FEATURES_ON], modes=("journal",)),
    Entry(
        "no-fsync",
        ["--innodb-flush-method=O_DIRECT_NO_FSYNC", *FEATURES_ON],
        modes=("protected",),
        measured=("ordered",),
        allowed={"ordered": TORN},
    ),
    direct("compressed", FEATURES_ON, COMPRESSED),
    Entry(
        "compressed-fsync",
        ["--innodb-flush-method=fsync", *FEATURES_ON],
        COMPRESSED,
        modes=("journal",),
    ),
    direct("encrypted", [*ENCRYPT, *FEATURES_ON], ENCRYPTED),
    Entry(
        "encrypted-fsync",
        ["--innodb-flush-method=fsync", *ENCRYPT, *FEATURES_ON],
        ENCRYPTED,
        modes=("journal",),
    ),
    direct("doublewrite-off", ["--innodb-doublewrite=OFF", *FEATURES_ON], allowed=TORN),
    # A device that writes pages whole promises what the doublewrite does.
    direct("doublewrite-off-atomic", ["--innodb-doublewrite=OFF", *FEATURES_ON], sectors=(16384,)),
    direct("detect-only", ["--innodb-doublewrite=DETECT_ONLY", *FEATURES_ON], allowed=TORN),
    direct("flush-log-2", ["--innodb-flush-log-at-trx-commit=2", *FEATURES_ON], allowed=WEAK),
    direct("flush-log-0", ["--innodb-flush-log-at-trx-commit=0", *FEATURES_ON], allowed=WEAK),
    direct("sync-binlog-0", ["--sync-binlog=0", *FEATURES_ON], allowed=WEAK),
    # Only the header of the redo log is written there.
    Entry(
        "redo-off",
        ["--innodb-flush-method=fsync", *FEATURES_ON],
        Setting(redo=False),
        modes=("journal",),
        near="redo of the shutdown",
    ),
    # The pages of an index that is built are not in the redo log, and here not in the
    # doublewrite files either; a device that writes pages whole does not need those.
    Entry(
        "index",
        ["--innodb-flush-method=fsync", "--innodb-doublewrite=OFF", *FEATURES_ON],
        Setting(index=True, ddl=False, undo=False, purge=False),
        modes=("journal",),
        sectors=(16384,),
        near="acknowledge index",
    ),
    direct("sync-binlog-100", ["--sync-binlog=100", *FEATURES_ON], allowed=WEAK),
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
    near: str = ""  #: where most of the power is cut: a pattern of aims


MUTANTS = [
    Mutant("no sync of tables", "fsync", "journal", (r"/pc(ddl)?/.*\.ibd$",)),
    Mutant("no sync of the dictionary", "fsync", "journal", (r"/mysql\.ibd$",)),
    Mutant("no sync of undo tablespaces", "fsync", "journal", (r"/undo_\d+$|\.ibu$",)),
    Mutant(
        "no sync of logs of undo truncation",
        "fsync",
        "journal",
        (r"/undo_\d+_trunc\.log$",),
        near="truncation|(create|unlink) undo",
    ),
    Mutant("no sync of the system tablespace", "fsync", "journal", (r"/ibdata1$",)),
    Mutant("no sync of doublewrite files", "fsync", "journal", (r"\.b?dblwr$",)),
    Mutant("no sync of the redo log", "fsync", "journal", (r"/#innodb_redo/",)),
    Mutant("no sync of binary logs", "fsync", "journal", (r"/binlog\.\d+$",)),
    Mutant(
        "no sync of the index of binary logs",
        "fsync",
        "journal",
        (r"/binlog\.(index|~rec~|index_crash_safe)$",),
        near="binlog index",
    ),
    Mutant(
        "no sync of the purge list",
        "fsync",
        "journal",
        (r"~purge~",),
        near="purge list|link binlog",
    ),
    # A journal is committed by the sync of any file that grew, so this needs the strict mode.
    Mutant(
        "no sync of directories of tables",
        "fsync",
        "posix",
        (r"/pc(ddl)?/$",),
        near="(create|rename|unlink) table",
    ),
    Mutant(
        "innodb_flush_method=nosync",
        "fsync",
        "journal",
        options=("--innodb-flush-method=nosync",),
    ),
    Mutant(
        "no flush of the redo log at a commit without a binary log",
        "no-binlog",
        "journal",
        options=("--innodb-flush-log-at-trx-commit=2",),
        near="acknowledge",
    ),
    # Left out in the server, by the keywords of its own mutations: debug builds only.
    Mutant(
        "the fast path does not note a write",
        "fsync",
        "journal",
        options=("--debug=+d,mutate_fil_write_not_noted",),
    ),
    Mutant(
        "the index of binary logs is replaced before the new one is synced",
        "fsync",
        "journal",
        options=("--debug=+d,mutate_binlog_index_sync",),
        near="(create|rename|unlink) binlog index",
    ),
    Mutant(
        "redo log disabled: the shutdown calls data safe before it is synced",
        "redo-off",
        "journal",
        options=("--debug=+d,mutate_unlogged_pages_shutdown",),
        near="redo of the shutdown",
    ),
    Mutant("no sync of the table of an index that is built", "index", "journal", (r"/wide\.ibd$",)),
    Mutant("no sync of the redo log, O_DIRECT", "features", "protected", (r"/#innodb_redo/",)),
    Mutant("no sync of tables, fast path off", "fsync-plain", "journal", (r"/pc(ddl)?/.*\.ibd$",)),
]
