# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The rig's modules, and a place for its files."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
