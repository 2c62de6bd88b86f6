# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Where things are. Everything that the harness writes goes below build/bench, or BENCH_WORK."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
SERVERS = BENCH / "servers"
SETTINGS = BENCH / "settings.toml"
SYSBENCH_SCRIPTS = BENCH / "sysbench"
SHIMS = BENCH / "shim"
#: Servers that are fetched; their files in servers/ name it.
PEERS = ROOT / "build" / "bench" / "peers"
#: Another place for data directories and results: a larger or faster disk.
WORK = (ROOT / os.environ.get("BENCH_WORK", "build/bench")).resolve()
DATA = WORK / "data"
RESULTS = WORK / "results"
#: What is committed.
KEPT = ROOT / "docs" / "results"
