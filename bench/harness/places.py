# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Where things are. Everything that the harness writes goes below build/bench."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "bench"
SERVERS = BENCH / "servers"
SETTINGS = BENCH / "settings.toml"
SYSBENCH_SCRIPTS = BENCH / "sysbench"
SHIMS = BENCH / "shim"
WORK = ROOT / "build" / "bench"
PEERS = WORK / "peers"
DATA = WORK / "data"
RESULTS = WORK / "results"
