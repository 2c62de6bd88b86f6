# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""Stands for all tests that need FUSE."""

import pytest
from conftest import CAN_RECORD


def test_this_machine_can_mount_fuse() -> None:
    if not CAN_RECORD:
        pytest.skip(
            "no power is cut here: that needs /dev/fuse, and root or fusermount3 to mount it "
            "(a container: --device /dev/fuse --cap-add SYS_ADMIN)"
        )
