# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""The rig's modules, and whether this machine can mount what they need."""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from recording import CannotMount, Recording


def can_record() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder, "base")
        base.mkdir()
        try:
            with Recording(base, Path(folder, "recording")) as recording:
                recording.mark("here\n")
        except CannotMount:
            return False
    return True


CAN_RECORD = can_record()
#: test_fuse.py says so, once, and not each of these.
collect_ignore = [] if CAN_RECORD else ["test_order.py", "test_rig.py", "test_power.py"]
