# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The scenario binlog-purge."""

from harness.scenarios.binlog_purge.scenario import BinlogPurge

__all__ = ["BinlogPurge"]
