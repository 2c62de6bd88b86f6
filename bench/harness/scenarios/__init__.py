# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The scenarios that make bench knows, in the order in which it runs them."""

from harness.scenario import Scenario
from harness.scenarios.binlog_purge import BinlogPurge
from harness.scenarios.bulk_load import BulkLoad
from harness.scenarios.cached import CachedMixed, CachedRead, CachedSelect, CachedUpdate
from harness.scenarios.cloud_disk import CloudDisk
from harness.scenarios.defaults import Defaults
from harness.scenarios.io_bound import IoSelect, IoUpdate
from harness.scenarios.metadata_lock import MetadataLock
from harness.scenarios.recovery import Recovery
from harness.scenarios.ssb import StarSchemaBenchmark
from harness.scenarios.sustained import Sustained
from harness.scenarios.tpcc_like import TpccLike

ALL: tuple[type[Scenario], ...] = (
    IoUpdate,
    IoSelect,
    CloudDisk,
    Sustained,
    TpccLike,
    CachedUpdate,
    CachedSelect,
    CachedRead,
    CachedMixed,
    BulkLoad,
    BinlogPurge,
    MetadataLock,
    StarSchemaBenchmark,
    Defaults,
    Recovery,
)
